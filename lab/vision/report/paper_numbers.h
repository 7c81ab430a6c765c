// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trasmuon::lab {

/// Top-1 accuracy in percent, mean and standard deviation over the seeds 42, 43, 44.
struct PaperAccuracy {
  double mean, deviation;
};

enum class PaperTable { cifar100_bursts, imagenet100 };

std::string_view name_of(PaperTable table);  ///< "CIFAR-100 with bursts"

/// The paper's number of a method; none if it does not print one.
std::optional<PaperAccuracy> paper_accuracy(PaperTable table, std::string_view method);

}  // namespace trasmuon::lab
