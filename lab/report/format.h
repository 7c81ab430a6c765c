// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/report/statistics/stats.h"

namespace trasmuon::lab {

/// For people: "44", "0.85", "1.3e6"; "∞" for a diverged run, "–" for nothing.
std::string human(double value);
std::string plain(double value);                ///< a setting: "1e4", "0.85"
std::string human_range(const Spread& spread);  ///< "(35, 56)"
std::string human_p(double p);                  ///< "p = 0.03", "p < 1e-6"
std::string human_factor(double factor);        ///< "5.8", "12"
std::string times_lower(double factor);         ///< "5.8 times lower", "1.20 times higher", "no lower"
std::string human_percent(double fraction);     ///< "38 %"
/// "23 of 24 seeds"
std::string of_seeds(std::size_t some, std::size_t all);

}  // namespace trasmuon::lab
