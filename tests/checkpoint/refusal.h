// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/models.h"

namespace trasmuon::test {

/// Loading must fail with a text that names the file and says `why`, and change nothing.
inline void expect_refused(Model& model, const std::string& path, const std::string& why) {
  const Snapshot before = model.snapshot();
  try {
    load_checkpoint(model.optimizer(), path);
    ADD_FAILURE() << "loaded; expected: " << why;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("load_checkpoint '" + path + "': "));
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
  EXPECT_TRUE(model.snapshot() == before) << "the optimizer changed";
}

}  // namespace trasmuon::test
