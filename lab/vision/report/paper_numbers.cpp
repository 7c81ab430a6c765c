// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/report/paper_numbers.h"

namespace trasmuon::lab {

std::string_view name_of(PaperTable table) {
  return table == PaperTable::imagenet100 ? "ImageNet-100" : "CIFAR-100 with bursts";
}

std::optional<PaperAccuracy> paper_accuracy(PaperTable table, std::string_view method) {
  const bool imagenet = table == PaperTable::imagenet100;
  if (method == "trasmuon") return imagenet ? PaperAccuracy{77.47, 0.34} : PaperAccuracy{58.77, 0.22};
  if (method == "normuon") return imagenet ? PaperAccuracy{77.10, 0.21} : PaperAccuracy{58.31, 0.52};
  if (method == "muon") return imagenet ? PaperAccuracy{69.69, 0.08} : PaperAccuracy{57.48, 0.52};
  if (method == "adamw") return imagenet ? PaperAccuracy{42.53, 4.38} : PaperAccuracy{35.03, 5.05};
  return std::nullopt;
}

}  // namespace trasmuon::lab
