// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/error_of.h"
#include "trasmuon/options.h"

namespace trasmuon {
namespace {

using test::error_of;

TEST(Presets, AreFoundByName) {
  EXPECT_EQ(describe(options_for("trasmuon", "default")), describe(TrasMuonOptions{}));
  EXPECT_EQ(describe(options_for("trasmuon", "paper")), describe(TrasMuonOptions::paper()));
  EXPECT_EQ(describe(options_for("trasmuon", "released")), describe(TrasMuonOptions::released()));
  EXPECT_EQ(describe(options_for("adamw", "released")), describe(AdamWOptions::released()));
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"})
    EXPECT_EQ(describe(options_for(rule, "default")), describe(options_for(rule)));
}

TEST(Presets, UnknownOnesAreNamedWithTheKnown) {
  EXPECT_EQ(error_of([] { options_for("trasmuon", "letter"); }),
            "trasmuon: preset must be one of default, paper, released, got 'letter'");
  EXPECT_EQ(error_of([] { options_for("adamw", "paper"); }),
            "adamw: preset must be one of default, released, got 'paper'");
  EXPECT_EQ(error_of([] { options_for("muon", "released"); }), "muon: preset must be default, got 'released'");
  EXPECT_EQ(error_of([] { options_for("sgd", "default"); }),
            "rule must be one of trasmuon, normuon, muon, dion, adamw, got 'sgd'");
}

TEST(Presets, AreValidAndWarnOfTheirColdStart) {
  for (const char* preset : {"default", "paper", "released"}) {
    const Options options = options_for("trasmuon", preset);
    EXPECT_EQ(error_of([&] { validate(options); }), "no error") << preset;
    bool warned = false;
    for (const std::string& text : warnings(options)) warned |= text.find("at the start") != std::string::npos;
    EXPECT_EQ(warned, std::string(preset) != "default");
  }
}

}  // namespace
}  // namespace trasmuon
