// SPDX-License-Identifier: Apache-2.0
#include <trasmuon/trasmuon.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  using namespace trasmuon;
  std::vector<float> w(64 * 32), b(64), dw(64 * 32), db(64);  // your weights and their gradients
  Optimizer optimizer({{TrasMuonOptions{.weight_decay = 0}, {{"w", view(w.data(), {64, 32})}}},
                       {AdamWOptions{.weight_decay = 0}, {{"b", view(b.data(), {64})}}}});
  const TensorView gradients[] = {view(dw.data(), {64, 32}), view(db.data(), {64})};

  double loss = 0;
  for (int step = 0; step <= 200; ++step) {
    loss = 0;  // in place of your model: half the squared distance to some target
    for (int i = 0; i < 64 * 32; ++i) dw[i] = w[i] - std::sin(i * i), loss += 0.5 * dw[i] * dw[i];
    for (int i = 0; i < 64; ++i) db[i] = b[i] - std::cos(i), loss += 0.5 * db[i] * db[i];
    if (step % 40 == 0) std::printf("step %3d  loss %8.3f\n", step, loss);

    const double decay = 1 - step / 201.0;
    optimizer.set(0, "lr", 0.05 * decay);
    optimizer.set(1, "lr", 0.03 * decay);
    optimizer.step(gradients);
  }
  return loss < 1 ? 0 : 1;
}
