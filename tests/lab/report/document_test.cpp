// SPDX-License-Identifier: Apache-2.0
#include "lab/report/document.h"

#include <gtest/gtest.h>

namespace trasmuon::lab {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Document sample() {
  Document document{"A <b> & \"c\"", {}};
  document.add(Heading{2, "First | part"});
  document.add(Paragraph{"x_1 < 2 & *y*"});
  document.add(Notice{"careful"});
  document.add(Bullets{{"one", "two"}});
  document.add(Code{"a < b"});
  document.add(
      Table{"cap", {{"name", false}, {"value"}}, {{{"row|1"}, {"1", "(0, 2)"}}, {{"row 2"}, {"bad", "", Tone::bad}}}});
  document.add(Picture{"plot", "what it shows", "<svg></svg>"});
  document.add(Picture{"missing", "never seen", ""});
  return document;
}

TEST(Html, EscapesAllTexts) {
  const std::string html = to_html(sample());
  EXPECT_TRUE(has(html, "<h1>A &lt;b&gt; &amp; &quot;c&quot;</h1>"));
  EXPECT_TRUE(has(html, "<p>x_1 &lt; 2 &amp; *y*</p>"));
  EXPECT_TRUE(has(html, "<pre><code>a &lt; b</code></pre>"));
}

TEST(Html, MarksNumbersDetailsAndTones) {
  const std::string html = to_html(sample());
  EXPECT_TRUE(has(html, "<th scope=\"row\">row|1</th><td class=\"number\">1 <small>(0, 2)</small></td>"));
  EXPECT_TRUE(has(html, "<span class=\"bad\">bad</span>"));
}

TEST(Html, LinksItsSections) {
  const std::string html = to_html(sample());
  EXPECT_TRUE(has(html, "<a href=\"#section-1\">First | part</a>"));
  EXPECT_TRUE(has(html, "<h2 id=\"section-1\">"));
}

TEST(Html, NumbersPicturesThatAreThere) {
  const std::string html = to_html(sample());
  EXPECT_TRUE(has(html, "<b>Figure 1.</b> what it shows"));
  EXPECT_FALSE(has(html, "never seen"));
}

TEST(Markdown, KeepsTextsAsTheyAre) {
  Document document{"a &lt; b\x1b", {}};
  document.add(Code{"x ``` y"});
  const std::string text = to_markdown(document);
  EXPECT_TRUE(has(text, "# a \\&lt; b \n")) << text;
  EXPECT_TRUE(has(text, "````\nx ``` y\n````\n")) << text;
}

TEST(Markdown, IsTheSameContent) {
  EXPECT_EQ(to_markdown(sample()),
            "# A \\<b\\> & \"c\"\n\n"
            "## First \\| part\n\n"
            "x\\_1 \\< 2 & \\*y\\*\n\n"
            "> **careful**\n\n"
            "- one\n- two\n\n"
            "```\na < b\n```\n\n"
            "**cap**\n\n"
            "| name | value |\n|---|---:|\n| row\\|1 | 1 (0, 2) |\n| row 2 | bad |\n\n"
            "![plot](figures/plot.svg)\n\n**Figure 1.** what it shows\n");
}

TEST(Markdown, KeepsARowOnItsLine) { EXPECT_EQ(escape_markdown("a\nb"), "a b"); }

TEST(NumberCell, HasARangeFromTwoValuesOn) {
  EXPECT_EQ(number_cell(spread_of(std::vector<double>{})).text, "–");
  EXPECT_EQ(number_cell(spread_of(std::vector<double>{5})).text, "5");
  EXPECT_EQ(number_cell(spread_of(std::vector<double>{5})).detail, "");
  EXPECT_EQ(number_cell(spread_of(std::vector<double>{1, 3})).detail, "(1.5, 2.5)");
}

}  // namespace
}  // namespace trasmuon::lab
