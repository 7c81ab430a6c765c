// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

// The content of a report, written once and rendered twice. Texts are plain; the renderers escape them.

enum class Tone { plain, good, fair, bad, muted };  ///< colour only; the text says the same

struct TableCell {
  std::string text;
  std::string detail = {};  ///< in small print after the text: quartiles, p-values
  Tone tone = Tone::plain;
};
TableCell number_cell(const Spread& spread);  ///< "1.3e6 (1.0e6, 1.6e6)"; a single value has no range

struct Column {
  std::string name;
  bool number = true;  ///< numbers are aligned to the right
};

struct Heading {
  int level;
  std::string text;
};
struct Paragraph {
  std::string text;
};
struct Notice {  ///< highlighted paragraph
  std::string text;
};
struct Bullets {
  std::vector<std::string> items;
};
struct Code {
  std::string text;
};
struct Table {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<TableCell>> rows;  ///< the first cell names its row
};
struct Picture {        ///< numbered in order
  std::string name;     ///< figures/NAME.svg
  std::string caption;  ///< what it shows, in words
  std::string svg;      ///< content of the file
};

using Block = std::variant<Heading, Paragraph, Notice, Bullets, Code, Table, Picture>;

struct Document {
  std::string title;
  std::vector<Block> blocks;

  void add(Block block);
};

std::string to_html(const Document& document);      ///< self-contained
std::string to_markdown(const Document& document);  ///< pictures by reference

std::string escape_html(const std::string& text);
std::string escape_markdown(const std::string& text);

}  // namespace trasmuon::lab
