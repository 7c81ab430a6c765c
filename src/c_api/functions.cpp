// SPDX-License-Identifier: Apache-2.0
#include "c_api/convert.h"
#include "c_api/guard.h"
#include "trasmuon/classify.h"
#include "trasmuon/orthogonalize.h"
#include "trasmuon/threads.h"

using namespace trasmuon::c_api;

namespace {

trasmuon::NewtonSchulzPrecision to_precision(const char* name) {
  trasmuon::Options options = trasmuon::MuonOptions{};
  trasmuon::set_field(options, "ns_precision", name);
  return std::get<trasmuon::MuonOptions>(options).ns_precision;
}

/// `caller` is the function name used in errors.
int orthogonalize(const char* caller, const trasmuon_tensor* in, const trasmuon_tensor* out, int steps,
                  const char* coefficients, int form, double eps, const char* precision, int device, void* stream) {
  return guarded(caller, [&] {
    const trasmuon_tensor &source = require(in, "in"), &target = require(out, "out");
    const auto from = about([] { return std::string("orthogonalize: in"); }, [&] { return to_view(source); });
    const auto to = about([] { return std::string("orthogonalize: out"); }, [&] { return to_view(target); });
    trasmuon::orthogonalize(from, to,
                            {.steps = steps,
                             .coefficients = &require(coefficients, "coefficients"),
                             .form = to_enum(form, trasmuon::NewtonSchulzForm::gram, "orthogonalize: form"),
                             .eps = eps,
                             .precision = to_precision(&require(precision, "precision")),
                             .device = to_device(device),
                             .stream = stream});
  });
}

/// `caller` is the function name used in errors.
int classify(const char* caller, const char* preset, const trasmuon_named_shape* parameters, size_t count,
             const trasmuon_family_override* overrides, size_t override_count, int* families, const char** text) {
  return guarded(caller, [&] {
    require_array(parameters, count, "parameters");
    require_array(overrides, override_count, "overrides");
    require(families, "families");
    std::vector<trasmuon::NamedShape> named;
    for (std::size_t i = 0; i < count; ++i) {
      const trasmuon_named_shape& p = parameters[i];
      const std::string name = &require(p.name, "parameters[].name");
      named.push_back(
          {name, about([&] { return "parameter '" + name + "'"; }, [&] { return to_shape(p.rank, p.shape); })});
    }
    std::vector<trasmuon::FamilyOverride> changes;
    for (std::size_t i = 0; i < override_count; ++i) {
      const std::string pattern = &require(overrides[i].pattern, "overrides[].pattern");
      changes.push_back(
          {pattern, about([&] { return "override '" + pattern + "'"; },
                          [&] { return to_enum(overrides[i].family, trasmuon::Family::adamw, "family"); })});
    }
    const std::vector<trasmuon::Classified> table =
        trasmuon::classify(named, changes, trasmuon::routing_for(&require(preset, "preset")));
    std::string lines = text != nullptr ? trasmuon::to_string(table) : "";
    for (std::size_t i = 0; i < count; ++i) families[i] = static_cast<int>(table[i].family);
    if (text != nullptr) *text = lend_text(std::move(lines));
  });
}

}  // namespace

int trasmuon_orthogonalize(const trasmuon_tensor* in, const trasmuon_tensor* out, int steps, const char* coefficients,
                           int form, double eps) {
  return orthogonalize(__func__, in, out, steps, coefficients, form, eps, "automatic", TRASMUON_CPU, nullptr);
}

int trasmuon_orthogonalize_on(const trasmuon_tensor* in, const trasmuon_tensor* out, int steps,
                              const char* coefficients, int form, double eps, const char* precision, int device,
                              void* stream) {
  return orthogonalize(__func__, in, out, steps, coefficients, form, eps, precision, device, stream);
}

int trasmuon_classify(const trasmuon_named_shape* parameters, size_t count, const trasmuon_family_override* overrides,
                      size_t override_count, int* families, const char** text) {
  return classify(__func__, "default", parameters, count, overrides, override_count, families, text);
}

int trasmuon_classify_preset(const char* preset, const trasmuon_named_shape* parameters, size_t count,
                             const trasmuon_family_override* overrides, size_t override_count, int* families,
                             const char** text) {
  return classify(__func__, preset, parameters, count, overrides, override_count, families, text);
}

int trasmuon_why_unusable(int device, const char** text) {
  return guarded(__func__, [&] { require(text, "text") = lend_text(trasmuon::why_unusable(to_device(device))); });
}

int trasmuon_set_num_threads(int threads) {
  return guarded(__func__, [&] { trasmuon::set_num_threads(threads); });
}

int trasmuon_get_num_threads(int* threads) {
  return guarded(__func__, [&] { require(threads, "threads") = trasmuon::num_threads(); });
}
