// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "lab/report/document.h"
#include "lab/report/html_style.h"

namespace trasmuon::lab {

namespace {

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::good: return "good";
    case Tone::fair: return "fair";
    case Tone::bad: return "bad";
    case Tone::muted: return "muted";
    case Tone::plain: break;
  }
  return "";
}

struct HtmlWriter {
  std::string out;
  int headings = 0, pictures = 0;

  void operator()(const Heading& heading) {
    out += fmt::format("<h{0} id=\"section-{1}\">{2}</h{0}>\n", heading.level, ++headings, escape_html(heading.text));
  }
  void operator()(const Paragraph& paragraph) { out += "<p>" + escape_html(paragraph.text) + "</p>\n"; }
  void operator()(const Notice& notice) { out += "<p class=\"notice\">" + escape_html(notice.text) + "</p>\n"; }
  void operator()(const Code& code) { out += "<pre><code>" + escape_html(code.text) + "</code></pre>\n"; }
  void operator()(const Bullets& bullets) {
    if (bullets.items.empty()) return;
    out += "<ul>\n";
    for (const std::string& item : bullets.items) out += "<li>" + escape_html(item) + "</li>\n";
    out += "</ul>\n";
  }
  void operator()(const Picture& picture) {
    if (picture.svg.empty()) return;
    out += "<figure id=\"figure-" + picture.name + "\">\n<div class=\"scroll\" tabindex=\"0\">" + picture.svg +
           "</div>\n<figcaption><b>Figure " + std::to_string(++pictures) + ".</b> " + escape_html(picture.caption) +
           "</figcaption>\n</figure>\n";
  }
  void operator()(const Table& table) {
    const bool prose =
        std::none_of(table.columns.begin(), table.columns.end(), [](const Column& c) { return c.number; });
    out += fmt::format("<div class=\"scroll\" tabindex=\"0\"><table{}>\n", prose ? " class=\"prose\"" : "");
    if (!table.caption.empty()) out += "<caption>" + escape_html(table.caption) + "</caption>\n";
    out += "<thead><tr>";
    for (const Column& column : table.columns)
      out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"number\"" : "",
                         escape_html(column.name));
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) table_row(table, row);
    out += "</tbody></table></div>\n";
  }

 private:
  void table_row(const Table& table, const std::vector<TableCell>& row) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const TableCell& cell = row[i];
      std::string text = escape_html(cell.text);
      if (cell.tone != Tone::plain) text = fmt::format("<span class=\"{}\">{}</span>", tone_class(cell.tone), text);
      if (!cell.detail.empty()) text += " <small>" + escape_html(cell.detail) + "</small>";
      if (i == 0) out += "<th scope=\"row\">" + text + "</th>";
      else out += fmt::format("<td{}>{}</td>", table.columns[i].number ? " class=\"number\"" : "", text);
    }
    out += "</tr>\n";
  }
};

/// Links to the sections, numbered as the writer numbers them.
std::string contents(const Document& document) {
  std::string links;
  int number = 0;
  for (const Block& block : document.blocks) {
    const auto* heading = std::get_if<Heading>(&block);
    if (heading == nullptr) continue;
    ++number;
    if (heading->level == 2)
      links += fmt::format("<a href=\"#section-{}\">{}</a>\n", number, escape_html(heading->text));
  }
  return links.empty() ? "" : "<nav aria-label=\"Contents\">\n" + links + "</nav>\n";
}

}  // namespace

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string to_html(const Document& document) {
  HtmlWriter writer;
  for (const Block& block : document.blocks) std::visit(writer, block);
  const std::string title = escape_html(document.title);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         title + "</title>\n<style>\n" + kHtmlStyle + "</style>\n</head>\n<body>\n<main>\n<h1>" + title + "</h1>\n" +
         contents(document) + writer.out + "</main>\n</body>\n</html>\n";
}

}  // namespace trasmuon::lab
