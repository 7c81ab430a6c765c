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

  double rms_scale = 1.0;  // 0.2 suits a learning rate tuned for AdamW

  Clip clip = Clip::soft;
  double alpha = 1.0;
  double c_min = 0.1;
  double beta_energy = 0.95;
  double beta_clip = 0.5;
  double trigger = 2.0;  // k; 0 = continuous
  int period = 1;        // K
  int warmup = 0;        // T_w, number of steps without damping
  double rho = 0.1;
  std::optional<double> gamma = {};  // weight of a step in c_avg; default: lr

  // Stages that can be switched off; TrasMuon has all of them.
  bool orthogonalize = true;
  bool row_scale = true;
  bool calibrate = true;

  // Guards (docs/algorithm.md); `literal` switches them off.
  bool literal = false;
  double eps_energy = 1e-30;
  int min_damped_dim = 8;
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
};

using Options = std::variant<TrasMuonOptions, NorMuonOptions, MuonOptions, DionOptions, AdamWOptions>;

/// Returns "trasmuon", "normuon", "muon", "dion" or "adamw".
TRASMUON_API const char* rule_name(const Options& options);

/// Returns the default options of a rule by name; throws Error with the known names if there is none.
TRASMUON_API Options options_for(std::string_view rule);

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
