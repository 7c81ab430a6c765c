// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "checkpoint/models.h"
#include "support/error_of.h"

namespace trasmuon::test {

/// Loading must fail with a text that names the file and says `why`, and must leave the optimizer as it was.
inline void expect_refused(Model& model, const std::string& path, const std::string& why) {
  const Snapshot before = model.snapshot();
  const std::string text = error_of([&] { load_checkpoint(model.optimizer(), path); });
  EXPECT_THAT(text, testing::StartsWith("load_checkpoint '" + path + "': "));
  EXPECT_THAT(text, testing::HasSubstr(why));
  EXPECT_TRUE(model.snapshot() == before) << "the optimizer changed";
}

}  // namespace trasmuon::test
