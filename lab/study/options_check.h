// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/options.h>

#include <string>

namespace trasmuon::lab {

/// Throws Error if no optimizer of matrices with elements of type Real (float, double) can have these options, with lr
/// multiplied by `lr_scale`. `owner` is the study.
template <class Real>
void check_options(const Options& options, double lr_scale, const std::string& owner);

}  // namespace trasmuon::lab
