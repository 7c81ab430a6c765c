// SPDX-License-Identifier: Apache-2.0
#include "lab/report/figures/gnuplot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <regex>

#include "lab/records/files.h"

namespace trasmuon::lab {

namespace {

constexpr int kNotFound = 127;

/// The exit status of `gnuplot SCRIPT` run in the folder, its messages in gnuplot.log; kNotFound if there is none.
int run_gnuplot(const std::filesystem::path& folder, const std::string& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "gnuplot.log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string program = "gnuplot", file = script;
  char* const arguments[] = {program.data(), file.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOSPC || error == EDQUOT) throw WriteError(folder / "gnuplot.log", error, 1);
  if (error != 0) return kNotFound;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// The picture that gnuplot wrote. It does not say when the disk is full, but stops in the middle.
std::string whole_picture(const std::filesystem::path& file) {
  std::string svg = read_text(file);
  if (svg.find("</svg>") != std::string::npos) return svg;
  std::error_code error;
  const std::filesystem::space_info disk = std::filesystem::space(file.parent_path(), error);
  throw Error("cannot write " + file.string() + ": gnuplot wrote only " + std::to_string(svg.size()) + " bytes" +
              (error ? "" : "; " + std::to_string(disk.available) + " are free"));
}

}  // namespace

Gnuplot::Gnuplot(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) throw WriteError(folder_, error.value());
}

std::string Gnuplot::draw(const Figure& figure) {
  const std::filesystem::path picture = folder_ / (figure.name + ".svg");
  std::filesystem::remove(picture);  // never show one of an earlier report
  write_atomically(folder_ / (figure.name + ".dat"), gnuplot_data(figure));
  write_atomically(folder_ / (figure.name + ".gp"), gnuplot_script(figure));
  if (problem_.empty()) {
    const int status = run_gnuplot(folder_, figure.name + ".gp");
    if (status == 0) {
      std::filesystem::remove(folder_ / "gnuplot.log");
      return svg_for_html(whole_picture(picture), figure.name);
    }
    std::filesystem::remove(picture);
    problem_ = status == kNotFound
                   ? "gnuplot was not found, so this report has no figures. Install gnuplot (Debian: gnuplot-nox) and "
                     "write the report again, or run gnuplot on the files figures/*.gp."
                   : "gnuplot failed on figures/" + figure.name + ".gp, so figures are missing; figures/gnuplot.log " +
                         "has its message.";
  }
  return "";
}

std::string svg_for_html(const std::string& svg, const std::string& prefix) {
  const std::size_t start = svg.find("<svg");
  if (start == std::string::npos) return "";
  std::string text = svg.substr(start);
  text = std::regex_replace(text, std::regex("\\s+xmlns(:xlink)?=\"[^\"]*\""), "");
  text = std::regex_replace(text, std::regex("<(title|desc)>[^<]*</(title|desc)>\\s*"), "");
  text = std::regex_replace(text, std::regex("xlink:href"), "href");
  text = std::regex_replace(text, std::regex("(\\bid=['\"]|href=['\"]#|url\\(#)"), "$1" + prefix + "-");
  return text;
}

}  // namespace trasmuon::lab
