// SPDX-License-Identifier: Apache-2.0
#pragma once

// The ceilings of the products: multiply-adds on registers alone, with AVX-512. 0 where the processor lacks them.
namespace trasmuon::bench {

/// Carries out f32 multiply-adds and returns the number of floating-point operations.
double f32_peak_operations();
/// The same with vdpbf16ps: products of bf16 with f32 sums.
double bf16_peak_operations();

}  // namespace trasmuon::bench
