// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace trasmuon::lab {

/// The paper's steps to training loss 7.0 of Qwen3-0.6B on FineWeb-Edu, 1500 steps of 1024 sequences of 1024 tokens,
/// all methods at lr 3.6e-3; nothing for methods of which it prints no number.
std::optional<double> paper_steps(std::string_view method, bool warmup);

}  // namespace trasmuon::lab
