// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iostream>
#include <vector>

#include <trasmuon/trasmuon.h>

int main() {
  std::vector<float> weight(8 * 16, 1.0f), gradient(weight.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = std::sin(static_cast<float>(i));

  trasmuon::Optimizer optimizer({{trasmuon::TrasMuonOptions{.lr = 0.02},
                                  {{.name = "weight", .weight = trasmuon::view(weight.data(), {8, 16})}}}});
  const trasmuon::TensorView gradients[] = {trasmuon::view(gradient.data(), {8, 16})};
  optimizer.step(gradients);

  // Exceptions must keep their type across the boundary of the library.
  try {
    optimizer.set(0, "alpha", -1);
  } catch (const trasmuon::Error& error) {
    std::cout << TRASMUON_VERSION << ' ' << error.what() << '\n';
    return weight[0] != 1.0f ? 0 : 1;
  }
  return 1;
}
