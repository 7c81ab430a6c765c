// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/paper_numbers.h"

#include <array>

namespace trasmuon::lab {

namespace {

// The paper does not give the number of seeds. 2 stands for "more than one".
constexpr Spread quartiles(double median, double low, double high) { return {2, median, low, high}; }

// Table "Mechanistic study summary under fix_V=True" (tab:toy2_fixV_true), section 4.
constexpr std::array<PaperRow, 4> kBasisKept = {{
    {"normuon", "", quartiles(44, 35, 56), quartiles(1.3e6, 1.0e6, 1.6e6)},
    {"noclip", "normuon", quartiles(48, 38, 56), quartiles(1.1e6, 8.9e5, 1.9e6)},
    {"clip-only", "noclip", quartiles(28, 24, 34), quartiles(2.4e5, 2.0e5, 2.8e5)},
    {"clip-sf", "noclip", quartiles(30, 24, 36), quartiles(2.0e5, 1.6e5, 2.7e5)},
}};

// Table "Toy-2 boundary condition (fix_V=False)" (tab:toy2_fixv_false), appendix.
constexpr std::array<PaperRow, 4> kBasisMixed = {{
    {"normuon", "", quartiles(79, 74, 86), quartiles(1.1e6, 8.4e5, 1.6e6)},
    {"noclip", "normuon", quartiles(80, 74, 87), quartiles(1.4e6, 9.8e5, 1.7e6)},
    {"clip-only", "noclip", quartiles(74, 67, 80), quartiles(1.5e6, 1.2e6, 1.8e6)},
    {"clip-sf", "noclip", quartiles(72, 65, 80), quartiles(1.3e6, 9.4e5, 1.7e6)},
}};

constexpr std::array<PaperTable, 2> kTables = {{
    {true, "tab:toy2_fixV_true", kBasisKept},
    {false, "tab:toy2_fixv_false", kBasisMixed},
}};

}  // namespace

std::span<const PaperTable> mechanistic_paper_tables() { return kTables; }

}  // namespace trasmuon::lab
