// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "stages/newton_schulz_form.h"

namespace trasmuon::cpu {

/// Carries out the iteration with the products of `m`, where P, Q and R are squares of X's short side:
///   gram()          R <- X X^T
///   polynomial(t)   P <- a I + b R + c R^2
///   advance_r()     R <- P R P
///   begin_q()       Q <- P, which may destroy P
///   advance_q()     Q <- Q P
///   apply_p(last)   X <- P X; `last`: this is the result
///   apply_q(last)   X <- Q X
/// Within a segment Q = P_1 ... P_k and R are polynomials in the first R: all symmetric, all commuting. The standard
/// form is the one with segments of one step.
template <class Products>
void newton_schulz_steps(Products& m, std::span<const NewtonSchulzTriple> triples, NewtonSchulzForm form,
                         DType iterates) {
  for (std::size_t done = 0; done < triples.size();) {
    const std::size_t steps = form == NewtonSchulzForm::gram ? segment_length(triples, done, iterates) : 1;
    const auto segment = triples.subspan(done, steps);
    done += steps;
    m.gram();
    for (std::size_t step = 0; step < steps; ++step) {
      m.polynomial(segment[step]);
      if (step + 1 < steps) m.advance_r();
      if (step > 0) m.advance_q();
      else if (steps > 1) m.begin_q();
    }
    const bool last = done == triples.size();
    if (steps > 1) m.apply_q(last);
    else m.apply_p(last);
  }
}

}  // namespace trasmuon::cpu
