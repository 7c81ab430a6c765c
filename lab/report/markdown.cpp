// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "lab/report/document.h"

namespace trasmuon::lab {

namespace {

struct MarkdownWriter {
  std::string out;
  int pictures = 0;

  void operator()(const Heading& heading) {
    out += std::string(static_cast<std::size_t>(heading.level), '#') + " " + escape_markdown(heading.text) + "\n\n";
  }
  void operator()(const Paragraph& paragraph) { out += escape_markdown(paragraph.text) + "\n\n"; }
  void operator()(const Notice& notice) { out += "> **" + escape_markdown(notice.text) + "**\n\n"; }
  void operator()(const Code& code) {
    std::string fence = "```";  // longer than any in the text
    while (code.text.find(fence) != std::string::npos) fence += '`';
    out += fence + "\n" + code.text + "\n" + fence + "\n\n";
  }
  void operator()(const Bullets& bullets) {
    if (bullets.items.empty()) return;
    for (const std::string& item : bullets.items) out += "- " + escape_markdown(item) + "\n";
    out += "\n";
  }
  void operator()(const Picture& picture) {
    const std::string caption = escape_markdown(picture.caption);
    if (picture.svg.empty()) return;
    out += "![" + picture.name + "](figures/" + picture.name + ".svg)\n\n**Figure " + std::to_string(++pictures) +
           ".** " + caption + "\n\n";
  }
  void operator()(const Table& table) {
    if (!table.caption.empty()) out += "**" + escape_markdown(table.caption) + "**\n\n";
    out += "|";
    for (const Column& column : table.columns) out += " " + escape_markdown(column.name) + " |";
    out += "\n|";
    for (const Column& column : table.columns) out += column.number ? "---:|" : "---|";
    out += "\n";
    for (const auto& row : table.rows) {
      out += "|";
      for (const TableCell& cell : row)
        out += " " + escape_markdown(cell.text + (cell.detail.empty() ? "" : " " + cell.detail)) + " |";
      out += "\n";
    }
    out += "\n";
  }
};

}  // namespace

std::string escape_markdown(const std::string& text) {
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20) {
      escaped += ' ';  // a line break would end a table's row
      continue;
    }
    const bool entity = c == '&' && i + 1 < text.size() && text[i + 1] != ' ';  // "&lt;" is not meant as "<"
    if (entity || std::string_view("\\`*_[]<>|").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string to_markdown(const Document& document) {
  MarkdownWriter writer;
  writer(Heading{1, document.title});
  for (const Block& block : document.blocks) std::visit(writer, block);
  writer.out.pop_back();
  return writer.out;
}

}  // namespace trasmuon::lab
