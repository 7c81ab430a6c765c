// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/pod.h"

#include <algorithm>
#include <cstddef>

namespace trasmuon::lab {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// What a formatting code with this letter and content shows.
std::string shown(char letter, const std::string& content) {
  if (letter == 'X' || letter == 'Z') return {};  // entries of an index; nothing
  if (letter == 'L') {
    const std::size_t bar = content.find('|');
    if (bar != std::string::npos) return content.substr(0, bar);
    return content.starts_with('/') ? content.substr(1) : content;
  }
  if (letter == 'E') {
    if (content == "lt") return "<";
    if (content == "gt") return ">";
    if (content == "verbar") return "|";
    if (content == "sol") return "/";
  }
  return content;
}

/// Removes the formatting codes of a paragraph. Codes may contain codes, which the program's stack does not bear to any
/// depth: beyond 20 the text stays as it is.
class Plain {
 public:
  explicit Plain(std::string_view text) : text_(text) {}
  std::string all() { return until("", 0); }

 private:
  /// Reads to the closing delimiter, which is consumed, or to the end.
  std::string until(std::string_view closing, int depth) {
    constexpr int kMostDepth = 20;
    std::string out;
    while (at_ < text_.size()) {
      if (!closing.empty() && text_.substr(at_).starts_with(closing)) {
        at_ += closing.size();
        return out;
      }
      const char c = text_[at_];
      const bool opens = c >= 'A' && c <= 'Z' && at_ + 1 < text_.size() && text_[at_ + 1] == '<' && depth < kMostDepth;
      if (!opens) {
        out += c;
        ++at_;
        continue;
      }
      const std::size_t first = at_ + 1, past = std::min(text_.find_first_not_of('<', first), text_.size());
      std::size_t angles = past - first;
      // Several angles need a space behind them, and close with as many behind a space.
      if (angles > 1 && (past == text_.size() || !is_space(text_[past]))) angles = 1;
      at_ = first + angles;
      const std::string content = until(angles == 1 ? ">" : " " + std::string(angles, '>'), depth + 1);
      out += shown(c, angles == 1 ? content : std::string(trimmed(content)));
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The paragraph on one line.
void append_line(std::string_view paragraph, std::string& out) {
  std::string flat(trimmed(paragraph));
  for (char& c : flat) c = is_space(c) ? ' ' : c;
  const std::string line = Plain(flat).all();
  if (!trimmed(line).empty()) out.append(trimmed(line)) += '\n';
}

/// The text behind the command of a heading or an item that has one: "=item * A thing" gives "A thing".
std::string_view command_text(std::string_view paragraph) {
  const auto end = std::find_if(paragraph.begin(), paragraph.end(), is_space);
  std::string_view text = trimmed(paragraph.substr(static_cast<std::size_t>(end - paragraph.begin())));
  if (text.starts_with('*')) text.remove_prefix(1);
  return text;
}

}  // namespace

std::string prose_of_pod(std::string_view pod) {
  std::string out;
  bool skipping = false;  // between =begin and =end, and behind =cut
  while (!pod.empty()) {
    // A paragraph ends at a line of white space.
    std::size_t end = 0, next = pod.size();
    for (std::size_t line = 0; line < pod.size();) {
      const std::size_t line_end = std::min(pod.find('\n', line), pod.size());
      end = line;
      next = std::min(line_end + 1, pod.size());
      if (trimmed(pod.substr(line, line_end - line)).empty()) break;
      end = line = next;
    }
    const std::string_view paragraph = pod.substr(0, end);
    pod.remove_prefix(next);
    if (paragraph.empty()) continue;
    if (paragraph.starts_with('=')) {
      const bool shows = paragraph.starts_with("=head") || paragraph.starts_with("=item");
      if (paragraph.starts_with("=begin") || paragraph.starts_with("=cut")) skipping = true;
      else if (shows || paragraph.starts_with("=end") || paragraph.starts_with("=pod")) skipping = false;
      if (shows) append_line(command_text(paragraph), out);
    } else if (!skipping && !is_space(paragraph.front())) {  // indented paragraphs are code
      append_line(paragraph, out);
    }
  }
  return out;
}

}  // namespace trasmuon::lab
