// SPDX-License-Identifier: Apache-2.0
#include "lab/data/text/default_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lab/data/text/pod.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

TEST(Pod, KeepsProseOnly) {
  EXPECT_EQ(prose_of_pod("=encoding utf8\n\n=head1 NAME\n\nperlx - a\npage\n\n    my $code;\n\n=over 4\n\n=item *\n\n"
                         "One.\n\n=item * Two\n\n=back\n\n=for comment\nnothing\n\nLast.\n"),
            "NAME\nperlx - a page\nOne.\nTwo\nLast.\n");
  EXPECT_EQ(prose_of_pod("A\n\n=begin html\n\n<b>B</b>\n\n=end html\n\nC\n\n=cut\n\nD\n\n=pod\n\nE"), "A\nC\nE\n");
  EXPECT_EQ(prose_of_pod("A\n \t\n B\n\n\n\nC"), "A\nC\n");
  EXPECT_EQ(prose_of_pod(""), "");
}

TEST(Pod, RemovesFormattingCodes) {
  EXPECT_EQ(prose_of_pod("B<bold> I<it B<both>> C<$x-E<gt>y> X<index>Z<>S<a b>"), "bold it both $x->y a b\n");
  EXPECT_EQ(prose_of_pod("C<< $a <=> $b >> and C<<< a >> b >>>"), "$a <=> $b and a >> b\n");
  EXPECT_EQ(prose_of_pod("L<perlop>, L<the page|perlre/X>, L</Here>, L<perlre/There>"),
            "perlop, the page, Here, perlre/There\n");
  EXPECT_EQ(prose_of_pod("1 < 2, AB<unclosed"), "1 < 2, Aunclosed\n");
  EXPECT_EQ(prose_of_pod("C<<>> x"), "<> x\n");  // as in perlop: one angle opens, one closes
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "B<";
  EXPECT_FALSE(prose_of_pod(deep).empty());
}

/// A folder as the package installs it, with pages of one word.
class DefaultText : public ::testing::Test {
 protected:
  void add(const std::string& page, const std::string& text) {
    const fs::path folder = fs::path(directory_.path()) / "5.36.0/pod";
    fs::create_directories(folder);
    test::write_file(folder / (page + ".pod"), "=head1 NAME\n\n" + text + "\n");
  }
  test::TemporaryDirectory directory_;
};

TEST_F(DefaultText, HasThePagesInOrder) {
  add("perlintro", "b");
  add("perldata", "a");
  add("perlko", "\xb1\xe2");  // Korean
  add("perltoc", "x");
  EXPECT_EQ(default_text(directory_.path()), (std::vector<std::string>{"NAME\na\n", "NAME\nb\n"}));
}

TEST_F(DefaultText, IsSplitByDocuments) {
  add("perlintro", "intro");
  for (int i = 10; i < 49; ++i) add("perl" + std::to_string(i), std::to_string(i));
  const TokenStream train = default_token_stream("train", directory_.path());
  const TokenStream val = default_token_stream("val", directory_.path());
  EXPECT_LE(val.size(), 2 * 13);  // 2 of 40 documents
  EXPECT_GE(val.size(), 2 * 9);
  EXPECT_EQ(train.size() + val.size(), 39 * 9 + 12);  // the token 256, NAME, two line breaks, the page's word
  std::vector<std::int64_t> first(6);
  train.read(0, first);
  EXPECT_EQ(first, (std::vector<std::int64_t>{256, 'N', 'A', 'M', 'E', '\n'}));
}

TEST_F(DefaultText, NamesThePackageThatIsMissing) {
  add("perldiag", "of another package");
  for (const char* split : {"train", "val"}) {
    EXPECT_EQ(
        test::error_of([&] { default_token_stream(split, directory_.path()); }),
        "the default text is not in " + directory_.path() + "; on Debian `apt-get install perl-doc` puts it there");
  }
  EXPECT_EQ(test::error_of([] { default_text("/nowhere"); }),
            "the default text is not in /nowhere; on Debian `apt-get install perl-doc` puts it there");
  EXPECT_EQ(test::error_of([] { default_token_stream("test"); }), "the split must be train or val, got test");
}

TEST(InstalledDefaultText, IsEnglishProse) {
  if (default_text_folder().empty()) GTEST_SKIP() << kDefaultTextPackage << " is not installed";
  std::string text;
  for (const std::string& document : default_text()) text += document;
  EXPECT_GE(text.size(), 3000000u);
  const auto share = [&](auto&& is) {
    return static_cast<double>(std::count_if(text.begin(), text.end(), is)) / static_cast<double>(text.size());
  };
  EXPECT_GT(share([](char c) { return (c >= 'a' && c <= 'z') || c == ' '; }), 0.85);
  EXPECT_LT(share([](char c) { return static_cast<unsigned char>(c) >= 0x80; }), 0.001);
}

}  // namespace
}  // namespace trasmuon::lab
