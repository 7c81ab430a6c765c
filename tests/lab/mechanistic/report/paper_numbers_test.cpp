// SPDX-License-Identifier: Apache-2.0
#include "lab/mechanistic/report/paper_numbers.h"

#include <gtest/gtest.h>

#include "lab/report/verdict.h"

namespace trasmuon::lab {
namespace {

TEST(PaperNumbers, AreInOrder) {
  for (const PaperTable& table : mechanistic_paper_tables()) {
    EXPECT_EQ(table.rows.size(), 4u);
    for (const PaperRow& row : table.rows) {
      EXPECT_LT(row.spikes.low, row.spikes.median) << row.method;
      EXPECT_LT(row.spikes.median, row.spikes.high) << row.method;
      EXPECT_LT(row.final_loss.low, row.final_loss.median) << row.method;
      EXPECT_LT(row.final_loss.median, row.final_loss.high) << row.method;
    }
  }
}

TEST(PaperNumbers, SayWhatThePaperConcludes) {
  const auto tables = mechanistic_paper_tables();
  const auto &kept = tables[0].rows, &mixed = tables[1].rows;
  EXPECT_EQ(relation_of(kept[1].spikes, kept[0].spikes), Relation::similar);
  EXPECT_EQ(relation_of(kept[3].spikes, kept[1].spikes), Relation::lower);
  EXPECT_EQ(relation_of(kept[3].final_loss, kept[1].final_loss), Relation::lower);
  EXPECT_EQ(relation_of(mixed[3].spikes, mixed[1].spikes), Relation::similar);
  EXPECT_EQ(relation_of(mixed[3].final_loss, mixed[1].final_loss), Relation::similar);
}

}  // namespace
}  // namespace trasmuon::lab
