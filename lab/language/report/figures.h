// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/language/report/groups.h"
#include "lab/report/figures/illustration.h"

namespace trasmuon::lab {

Illustration language_curves(const LanguageGroups& groups);
Illustration language_sweep(const LanguageGroups& groups);
Illustration language_ratios(const LanguageGroups& groups);  ///< natural bursts: r_j over the steps

}  // namespace trasmuon::lab
