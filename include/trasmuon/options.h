// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trasmuon/export.h"
#include "trasmuon/orthogonalize.h"

namespace trasmuon {

// The rules. Every field has its documented default here and its range and one-line
// description in option_fields.h, which also feeds validation, the C ABI and checkpoints.

/// Which columns' energy is damped, and how.
enum class Clip : std::uint8_t {
  none,  ///< the `noclip` ablation: c = 1
  soft,  ///< 1 / (1 + alpha ln(1 + r)), the paper's rule
  hard,  ///< sqrt(trigger / r), the appendix' energy cap
};

/// The numbers in which the momentum is kept; it is computed in the compute type all the same.
enum class MomentumDType : std::uint8_t {
  automatic,  ///< the compute type: f64 for f64 weights, f32 otherwise
  bf16,       ///< half of the state; not for f64 weights
};

/// TrasMuon, Algorithm 1 of the paper. The paper's ablations: noclip (`clip = none`),
/// clip-only (`rho = 0`), clip-sf (`rho > 0`), hard clip, continuous (`trigger = 0`).
struct TrasMuonOptions {
  double lr = 1e-3;            // eta: RMS of one step's update before damping
  double weight_decay = 0.01;  // lambda
  double beta1 = 0.95;
  double beta2 = 0.95;
  double eps = 1e-8;
  bool nesterov = false;

  int ns_steps = 5;  // T
  std::string coefficients = "keller";
  NewtonSchulzForm ns_form = NewtonSchulzForm::automatic;
  NewtonSchulzPrecision ns_precision = NewtonSchulzPrecision::automatic;
  MomentumDType momentum_dtype = MomentumDType::automatic;

  double rms_scale = 1.0;  // 0.2 carries a learning rate tuned for AdamW over

  Clip clip = Clip::soft;
  double alpha = 1.0;
  double c_min = 0.1;
  double beta_energy = 0.95;
  double beta_clip = 0.5;
  double trigger = 2.0;  // k; 0 = continuous
  int period = 1;        // K
  int warmup = 0;        // T_w, in steps without damping
  double rho = 0.1;
  std::optional<double> gamma = {};  // weight of the step in c_avg; lr unless given

  // Stages that can be left out; all on is TrasMuon.
  bool orthogonalize = true;
  bool row_scale = true;
  bool calibrate = true;

  // Guards (docs/algorithm.md): `literal` switches all of them off.
  bool literal = false;
  double eps_energy = 1e-30;
  int min_damped_dim = 8;
};

enum class NorMuonScaling : std::uint8_t {
  paper,  ///< update RMS = rms_scale * lr
  code,   ///< the public code: norm of O kept, times sqrt(max(1, m/n))
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
  double momentum = 0.95;      // mu: what error feedback keeps of the part already applied
  double rank_fraction = 1.0;  // r = ceil(rank_fraction * min(m, n))
  std::int64_t seed = 0;       // of the Gaussian Q0
};

struct AdamWOptions {
  double lr = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.95;  // 0.95 beside a matrix rule; use 0.999 where AdamW trains everything
  double eps = 1e-8;
};

using Options = std::variant<TrasMuonOptions, NorMuonOptions, MuonOptions, DionOptions, AdamWOptions>;

/// "trasmuon", "normuon", "muon", "dion", "adamw".
TRASMUON_API const char* rule_name(const Options& options);

/// Default options of the rule with that name; throws Error listing the names.
TRASMUON_API Options options_for(std::string_view rule);

/// Throws Error("trasmuon: alpha must be > 0, got -1") on the first field outside its range.
TRASMUON_API void validate(const Options& options);

/// Settings that are allowed but known to be weak, one sentence each.
TRASMUON_API std::vector<std::string> warnings(const Options& options);

/// Reads or sets one field by name; a text value is parsed to the field's type, a number
/// must fit it (0 and 1 for switches). set_field validates the whole and leaves `options` unchanged when it throws.
TRASMUON_API std::string get_field(const Options& options, std::string_view field);
TRASMUON_API void set_field(Options& options, std::string_view field, std::string_view value);
TRASMUON_API void set_field(Options& options, std::string_view field, double value);
/// Several at once, validated together.
TRASMUON_API void set_fields(Options& options, const std::map<std::string, std::string>& fields);

/// A table of the rule's fields: name, default, range, description.
TRASMUON_API std::string describe(const Options& options);

}  // namespace trasmuon
