// SPDX-License-Identifier: Apache-2.0
#include "lab/report/format.h"

#include <fmt/format.h>

#include <cmath>

namespace trasmuon::lab {

namespace {

/// "1.3e+06" -> "1.3e6"
std::string short_exponent(double value, int digits) {
  std::string text = fmt::format("{:.{}e}", value, digits);
  const std::size_t e = text.find('e');
  return text.substr(0, e) + "e" + std::to_string(std::stoi(text.substr(e + 1)));
}

}  // namespace

std::string human(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 999.5 || size < 1e-2) return short_exponent(value, 1);
  return fmt::format("{:.{}g}", value, size >= 0.995 ? 3 : 2);
}

std::string plain(double value) {
  std::string text = fmt::format("{:.4g}", value);
  const double size = std::abs(value);
  if (value == 0 || !std::isfinite(value) || (size < 1e4 && size >= 1e-2)) return text;
  text = short_exponent(value, 3);
  const std::size_t e = text.find('e');
  return text.substr(0, text.find_last_not_of("0.", e - 1) + 1) + text.substr(e);
}

std::string human_range(const Spread& spread) { return fmt::format("({}, {})", human(spread.low), human(spread.high)); }

std::string human_p(double p) {
  if (p < 1e-6) return "p < 1e-6";
  return "p = " + (p >= 1e-3 ? fmt::format("{:.{}g}", p, p >= 0.01 ? 2 : 1) : short_exponent(p, 0));
}

std::string human_factor(double factor) {
  if (factor < 0.095) return human(factor);
  const bool middle = factor < 9.95;
  return middle ? fmt::format("{:.{}f}", factor, factor < 1.95 ? 2 : 1) : human(std::round(10 * factor) / 10);
}

std::string times_lower(double factor) {
  if (std::abs(factor - 1) < 0.005) return "no lower";
  return factor > 1 ? human_factor(factor) + " times lower" : human_factor(1 / factor) + " times higher";
}

std::string human_percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.0f} %", 100 * fraction) : "–";
}

std::string of_seeds(std::size_t some, std::size_t all) {
  return fmt::format("{} of {} seed{}", some, all, all == 1 ? "" : "s");
}

}  // namespace trasmuon::lab
