// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trasmuon/export.h"
#include "trasmuon/newton_schulz.h"

namespace trasmuon {

// Options of the rules. Defaults are here; ranges and one-line descriptions are in
// option_fields.h, which validation, the C ABI and checkpoints use as well.

/// How columns with a burst of energy are damped.
enum class Clip : std::uint8_t {
  none,  ///< the `noclip` ablation: c = 1
  soft,  ///< 1 / (1 + alpha ln(1 + r)), the paper's rule
  hard,  ///< sqrt(trigger / r), the energy cap of the paper's appendix
};

/// How the momentum is stored. It is always computed in the compute type.
enum class MomentumDType : std::uint8_t {
  automatic,  ///< the compute type: f64 for f64 weights, f32 otherwise
  bf16,       ///< halves the state; not for f64 weights
};

/// The matrix whose column energies E_j are watched for bursts.
enum class EnergyOf : std::uint8_t {
  momentum,   ///< M, as in the paper
  gradient,   ///< G
  direction,  ///< O_base, the update before damping
};

/// What the energy of a column is compared with.
enum class Reference : std::uint8_t {
  columns,  ///< the average of a quantile over all columns, as in the paper
  history,  ///< the average of the column's own energy over the steps before
};

/// How the average of a reference energy starts.
enum class ReferenceStart : std::uint8_t {
  corrected,  ///< from zero, without the bias of that start
  zero,       ///< from zero, as in the paper
  first,      ///< from the first value
};

enum class QuantileRule : std::uint8_t {
  interpolated,  ///< between the two nearest values; the median of an even number is the mean of the middle two
  nearest,       ///< the p-th smallest, p = floor(quantile n + 1/2), at least 1 and at most n
};

/// The dimension of W that min_damped_dim looks at.
enum class DampedDim : std::uint8_t {
  smaller,  ///< min(m, n)
  columns,  ///< n
};

/// c_avg before any step has had a weight (lr = 0).
enum class AverageStart : std::uint8_t {
  one,   ///< no damping
  zero,  ///< what C / (S + eps) gives, as in the paper
};

/// What is added to the norm of the input of Newton-Schulz before the input is divided by it.
enum class InputEps : std::uint8_t {
  capped,  ///< as twice, but eps^2 never more than 1e-8 of the norm: the step does not depend on the gradient's scale
  twice,   ///< eps RMS + eps^2: eps is added to the RMS and again to the norm, as in the paper
  once,    ///< eps
};

/// Where eps is added to the second moment of a row.
enum class RowEps : std::uint8_t {
  inside,   ///< O / sqrt(v + eps), as in the paper
  outside,  ///< O / (sqrt(v) + eps)
};

/// Weight of a step in c_avg.
struct Gamma {
  enum class Kind : std::uint8_t {
    lr,       ///< the learning rate of the step
    eta_hat,  ///< eta^ of the step, kept within gamma_low and gamma_high times its average
    number,   ///< the same in every step
  };
  Kind kind = Kind::lr;
  double value = 0;  ///< of kind `number`

  constexpr Gamma() = default;
  constexpr Gamma(Kind k) : kind(k) {}                         // NOLINT(google-explicit-constructor)
  constexpr Gamma(double v) : kind(Kind::number), value(v) {}  // NOLINT(google-explicit-constructor)
  bool operator==(const Gamma&) const = default;
};

/// TrasMuon, Algorithm 1 of the paper with guards; by default with Nesterov's momentum and rms_scale 0.2. Ablations:
/// noclip (`clip = none`), clip-only (`rho = 0`), clip-sf (`rho > 0`), hard clip, continuous (`trigger = 0`).
struct TrasMuonOptions {
  double lr = 1e-3;            // eta: an update has an RMS of rms_scale eta before damping
  double weight_decay = 0.01;  // lambda
  double beta1 = 0.95;
  double beta2 = 0.95;
  double eps = 1e-8;
  bool nesterov = true;

  int ns_steps = 5;  // T
  std::string coefficients = "keller";
  NewtonSchulzForm ns_form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision ns_precision = NewtonSchulzPrecision::automatic;
  MomentumDType momentum_dtype = MomentumDType::automatic;

  double rms_scale = 0.2;  // so that a learning rate tuned for AdamW can be kept

  Clip clip = Clip::soft;
  double alpha = 1.0;
  double c_min = 0.1;
  double beta_energy = 0.95;
  double beta_clip = 0.5;
  double trigger = 2.0;  // k; 0 = continuous
  int period = 1;        // K
  int warmup = 0;        // T_w, number of steps without damping
  double rho = 0.1;
  Gamma gamma = {};
  double beta_gamma = 0.9;  // these three only with gamma = eta_hat
  double gamma_low = 0.3;
  double gamma_high = 3.0;

  // The reference that energies are compared with.
  EnergyOf energy_of = EnergyOf::momentum;
  Reference reference = Reference::columns;
  ReferenceStart reference_start = ReferenceStart::corrected;
  double quantile = 0.5;
  QuantileRule quantile_rule = QuantileRule::interpolated;
  bool gate_first_step = false;
  bool average_warmup = true;

  // Stages that can be switched off; TrasMuon has all of them.
  bool orthogonalize = true;
  bool row_scale = true;
  bool calibrate = true;

  // Guards (docs/algorithm.md) and the places of eps.
  double eps_energy = 1e-30;
  double eps_reference = 0;
  double eps_average = 0;
  AverageStart average_start = AverageStart::one;
  bool clamp_damping = true;
  int min_damped_dim = 8;
  DampedDim damped_dim = DampedDim::smaller;
  InputEps input_eps = InputEps::capped;
  RowEps row_eps = RowEps::inside;
  double eps_calibration = 1e-8;
  bool skip_nonfinite = true;

  /// Algorithm 1 to the letter: no guards, plain momentum, rms_scale 1. Set `warmup` to 100 or more: E_ref starts at
  /// zero.
  TRASMUON_API static TrasMuonOptions paper();
  /// The authors' package trasmuon-pytorch 0.1.0 with its defaults (docs/release.md).
  TRASMUON_API static TrasMuonOptions released();
};

enum class NorMuonScaling : std::uint8_t {
  paper,  ///< update RMS = rms_scale * lr
  code,   ///< the authors' code: keeps the norm of O, times sqrt(max(1, m/n))
};

struct NorMuonOptions {
  double lr = 0.02;
  double weight_decay = 0.0;
  double beta1 = 0.95;
  double beta2 = 0.95;
  double eps = 1e-8;  // added to sqrt(v) and to norms
  bool nesterov = false;
  int ns_steps = 5;
  std::string coefficients = "keller";
  NewtonSchulzForm ns_form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision ns_precision = NewtonSchulzPrecision::automatic;
  MomentumDType momentum_dtype = MomentumDType::automatic;
  NorMuonScaling scaling = NorMuonScaling::paper;
  double rms_scale = 0.2;
};

enum class MuonScaling : std::uint8_t {
  original,         ///< sqrt(max(1, m/n))
  match_rms_adamw,  ///< 0.2 sqrt(max(m, n))
};

struct MuonOptions {
  double lr = 0.02;
  double weight_decay = 0.0;
  double momentum = 0.95;
  bool nesterov = true;
  int ns_steps = 5;
  std::string coefficients = "keller";
  NewtonSchulzForm ns_form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision ns_precision = NewtonSchulzPrecision::automatic;
  MomentumDType momentum_dtype = MomentumDType::automatic;
  double eps = 1e-7;  // added to ||.||_F before Newton-Schulz
  MuonScaling scaling = MuonScaling::original;
};

struct DionOptions {
  double lr = 0.01;
  double weight_decay = 0.0;
  double momentum = 0.95;      // mu: share of the applied part that error feedback keeps
  double rank_fraction = 1.0;  // r = ceil(rank_fraction * min(m, n))
  std::int64_t seed = 0;       // seed of the Gaussian Q0
};

struct AdamWOptions {
  double lr = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.95;  // 0.95 is for use with a matrix rule; 0.999 where AdamW trains everything
  double eps = 1e-8;

  /// What trasmuon-pytorch 0.1.0 does with parameters that are not matrices.
  TRASMUON_API static AdamWOptions released();
};

using Options = std::variant<TrasMuonOptions, NorMuonOptions, MuonOptions, DionOptions, AdamWOptions>;

/// Returns "trasmuon", "normuon", "muon", "dion" or "adamw".
TRASMUON_API const char* rule_name(const Options& options);

/// Returns the default options of a rule by name; throws Error with the known names if there is none.
TRASMUON_API Options options_for(std::string_view rule);
/// The same for a preset: "default"; "paper" (of trasmuon); "released" (of trasmuon and adamw). Throws Error with the
/// known presets of the rule if it does not have this one.
TRASMUON_API Options options_for(std::string_view rule, std::string_view preset);

/// Throws Error("trasmuon: alpha must be > 0, got -1") on the first field outside its range.
TRASMUON_API void validate(const Options& options);

/// Returns a sentence for each setting that is allowed but known to work badly.
TRASMUON_API std::vector<std::string> warnings(const Options& options);

/// Gets or sets one field by name. Text is parsed to the field's type; a number must fit that type
/// (0 and 1 for switches). set_field validates all options, and leaves them unchanged when it throws.
TRASMUON_API std::string get_field(const Options& options, std::string_view field);
TRASMUON_API void set_field(Options& options, std::string_view field, std::string_view value);
TRASMUON_API void set_field(Options& options, std::string_view field, double value);
/// Sets several fields, which are validated together.
TRASMUON_API void set_fields(Options& options, const std::map<std::string, std::string>& fields);

/// Returns a table of the rule's fields: name, value, range, description.
TRASMUON_API std::string describe(const Options& options);

}  // namespace trasmuon
