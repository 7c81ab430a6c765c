// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::lab {

// Student's t distribution with `freedom` degrees of freedom, >= 1.

/// P(|T| >= |t|).
double t_two_sided_p(double t, double freedom);

/// The t with P(|T| <= t) = `coverage`, in (0, 1).
double t_critical(double coverage, double freedom);

}  // namespace trasmuon::lab
