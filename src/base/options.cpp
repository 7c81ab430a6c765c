// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <type_traits>

#include "base/number_text.h"
#include "trasmuon/error.h"
#include "trasmuon/option_fields.h"

namespace trasmuon {
namespace {

// Names of enumeration values, in order.
template <class E>
constexpr std::array<const char*, 0> kNames{};
template <>
constexpr std::array kNames<Clip>{"none", "soft", "hard"};
template <>
constexpr std::array kNames<NewtonSchulzForm>{"automatic", "standard", "gram"};
template <>
constexpr std::array kNames<NewtonSchulzPrecision>{"automatic", "f32", "tf32", "f16", "bf16"};
template <>
constexpr std::array kNames<MomentumDType>{"automatic", "bf16"};
template <>
constexpr std::array kNames<EnergyOf>{"momentum", "gradient", "direction"};
template <>
constexpr std::array kNames<Reference>{"columns", "history"};
template <>
constexpr std::array kNames<ReferenceStart>{"corrected", "zero", "first"};
template <>
constexpr std::array kNames<QuantileRule>{"interpolated", "nearest"};
template <>
constexpr std::array kNames<DampedDim>{"smaller", "columns"};
template <>
constexpr std::array kNames<AverageStart>{"one", "zero"};
template <>
constexpr std::array kNames<InputEps>{"capped", "twice", "once"};
template <>
constexpr std::array kNames<RowEps>{"inside", "outside"};
template <>
constexpr std::array kNames<Gamma::Kind>{"lr", "eta_hat"};  // the third is its number
template <>
constexpr std::array kNames<NorMuonScaling>{"paper", "code"};
template <>
constexpr std::array kNames<MuonScaling>{"original", "match_rms_adamw"};

template <class F>
std::string format(const F& value) {
  if constexpr (std::is_same_v<F, bool>) return value ? "true" : "false";
  else if constexpr (std::is_same_v<F, std::string>) return value;
  else if constexpr (std::is_same_v<F, Gamma>)
    return value.kind == Gamma::Kind::number ? shortest(value.value) : format(value.kind);
  else if constexpr (std::is_enum_v<F>) return kNames<F>[static_cast<std::size_t>(value)];
  else if constexpr (std::is_integral_v<F>) return std::to_string(value);
  else return shortest(value);
}

template <class N>
bool parse_number(std::string_view text, N& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

/// Sets `field` from text; returns "", or what was expected if the text is not such a value.
template <class F>
std::string parse(std::string_view text, F& field) {
  if constexpr (std::is_same_v<F, bool>) {
    if (text != "true" && text != "false" && text != "1" && text != "0") return "true or false";
    field = text == "true" || text == "1";
  } else if constexpr (std::is_same_v<F, std::string>) {
    field = text;
  } else if constexpr (std::is_same_v<F, Gamma>) {
    Gamma::Kind kind{};
    double value = 0;
    if (parse(text, kind).empty()) field = kind;
    else if (parse_number(text, value)) field = value;
    else return "a number, lr or eta_hat";
  } else if constexpr (std::is_enum_v<F>) {
    std::string known;
    for (std::size_t i = 0; i < kNames<F>.size(); ++i) {
      if (text == kNames<F>[i]) {
        field = static_cast<F>(i);
        return {};
      }
      known += (i == 0 ? "" : ", ") + std::string(kNames<F>[i]);
    }
    return "one of " + known;
  } else if constexpr (std::is_integral_v<F>) {
    if (parse_number(text, field)) return {};
    // "3.0" is valid too: the C ABI and schedules pass doubles, exact for integers up to 2^53.
    constexpr double kLargest = std::min(0x1p53, static_cast<double>(std::numeric_limits<F>::max()));
    double value = 0;
    if (!parse_number(text, value) || value != std::floor(value) || std::abs(value) > kLargest) return "a whole number";
    field = static_cast<F>(value);
  } else {
    if (!parse_number(text, field)) return "a number";
  }
  return {};
}

[[noreturn]] void refuse(const char* rule, std::string_view field, const std::string& requirement,
                         const std::string& value) {
  throw Error(std::string(rule) + ": " + std::string(field) + " must be " + requirement + ", got " + value);
}

template <class F>
void check(const char* rule, const char* name, const F& value, const Range& range) {
  if constexpr (std::is_same_v<F, Gamma>) {
    if (value.kind == Gamma::Kind::number) check(rule, name, value.value, range);
    else check(rule, name, value.kind, range);
  } else if constexpr (std::is_arithmetic_v<F> && !std::is_same_v<F, bool>) {
    if (!range.contains(static_cast<double>(value))) refuse(rule, name, to_string(range), format(value));
  } else if constexpr (std::is_enum_v<F>) {
    const auto index = static_cast<std::size_t>(value);
    if (index >= kNames<F>.size()) refuse(rule, name, "a known value", std::to_string(index));
  } else if constexpr (std::is_same_v<F, std::string>) {
    try {
      newton_schulz_triples(value, 0);
    } catch (const Error& error) {
      throw Error(std::string(rule) + ": " + error.what());
    }
  }
}

void check_together(const TrasMuonOptions& o) {
  if (o.clip == Clip::hard && o.trigger <= 0) {
    throw Error("trasmuon: trigger must be > 0 when clip is hard, got " + format(o.trigger));
  }
}
template <class O>
void check_together(const O&) {}

}  // namespace

const char* rule_name(const Options& options) {
  constexpr const char* names[] = {"trasmuon", "normuon", "muon", "dion", "adamw"};
  return names[options.index()];
}

Options options_for(std::string_view rule) {
  for (const Options& options : {Options(TrasMuonOptions{}), Options(NorMuonOptions{}), Options(MuonOptions{}),
                                 Options(DionOptions{}), Options(AdamWOptions{})}) {
    if (rule == rule_name(options)) return options;
  }
  throw Error("rule must be one of trasmuon, normuon, muon, dion, adamw, got '" + std::string(rule) + "'");
}

void validate(const Options& options) {
  const char* rule = rule_name(options);
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto& value, const Range& range, const char*) {
          check(rule, name, value, range);
        });
        if (!(o.lr * o.weight_decay <= 1)) {
          throw Error(std::string(rule) + ": lr * weight_decay must be <= 1, got " + format(o.lr * o.weight_decay));
        }
        check_together(o);
      },
      options);
}

std::vector<std::string> warnings(const Options& options) {
  std::vector<std::string> list;
  const auto* o = std::get_if<TrasMuonOptions>(&options);
  if (o == nullptr || o->clip == Clip::none) return list;
  if (o->rho > 0.3) list.push_back("trasmuon: rho " + format(o->rho) + " > 0.3 nearly switches damping off");
  if (o->period > 1) list.push_back("trasmuon: period " + format(o->period) + " > 1 misses bursts of a single step");
  if (o->beta_energy >= 0.99) {
    list.push_back("trasmuon: beta_energy " + format(o->beta_energy) + " >= 0.99 lets the reference energy go stale");
  }
  if (o->reference_start != ReferenceStart::corrected && o->warmup < 100) {
    list.push_back("trasmuon: reference_start " + format(o->reference_start) + " with warmup " + format(o->warmup) +
                   " < 100 damps most columns at the start: E_ref begins too low");
  }
  return list;
}

std::string get_field(const Options& options, std::string_view field) {
  std::optional<std::string> found;
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto& value, const Range&, const char*) {
          if (field == name) found = format(value);
        });
      },
      options);
  if (!found) throw Error(std::string(rule_name(options)) + ": has no field '" + std::string(field) + "'");
  return *found;
}

void set_fields(Options& options, const std::map<std::string, std::string>& fields) {
  Options changed = options;
  const char* rule = rule_name(options);
  for (const auto& [field, value] : fields) {
    bool found = false;
    std::visit(
        [&, &field = field, &value = value](auto& o) {
          visit_fields(o, [&](const char* name, auto& member, const Range&, const char*) {
            if (field != name) return;
            found = true;
            const std::string expected = parse(value, member);
            if (!expected.empty()) refuse(rule, field, expected, "'" + value + "'");
          });
        },
        changed);
    if (!found) throw Error(std::string(rule) + ": has no field '" + field + "'");
  }
  validate(changed);
  options = std::move(changed);
}

void set_field(Options& options, std::string_view field, std::string_view value) {
  set_fields(options, {{std::string(field), std::string(value)}});
}

void set_field(Options& options, std::string_view field, double value) {
  set_field(options, field, std::string_view(shortest(value)));
}

std::string describe(const Options& options) {
  std::ostringstream text;
  std::visit(
      [&](const auto& o) {
        visit_fields(o, [&](const char* name, const auto& value, const Range& range, const char* description) {
          using F = std::remove_cvref_t<decltype(value)>;
          constexpr bool ranged = (std::is_arithmetic_v<F> && !std::is_same_v<F, bool>) || std::is_same_v<F, Gamma>;
          text << std::left << std::setw(15) << name << ' ' << std::setw(12) << format(value) << ' ' << std::setw(13)
               << (ranged ? to_string(range) : "") << ' ' << description << '\n';
        });
      },
      options);
  return text.str();
}

}  // namespace trasmuon
