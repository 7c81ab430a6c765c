// SPDX-License-Identifier: Apache-2.0
// Learns y = W x + b: TrasMuon steps the matrix, AdamW the bias.
#include <trasmuon/trasmuon.h>

#include <cstdio>
#include <random>
#include <vector>

int main() {
  constexpr int kOut = 16, kIn = 32, kBatch = 64, kSteps = 200;
  std::mt19937 random;
  std::normal_distribution<float> normal;
  std::vector<float> truth(kOut * kIn), w(kOut * kIn), b(kOut), dw(kOut * kIn), db(kOut), x(kIn);
  for (float& value : truth) value = normal(random);

  using trasmuon::view;
  trasmuon::Optimizer optimizer({{trasmuon::TrasMuonOptions{}, {{"w", view(w.data(), {kOut, kIn})}}},
                                 {trasmuon::AdamWOptions{}, {{"b", view(b.data(), {kOut})}}}});
  const trasmuon::TensorView gradients[] = {view(dw.data(), {kOut, kIn}), view(db.data(), {kOut})};
  float first = 0, loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    dw.assign(kOut * kIn, 0), db.assign(kOut, 0), loss = 0;
    for (int sample = 0; sample < kBatch; ++sample) {
      for (float& value : x) value = normal(random);
      for (int i = 0; i < kOut; ++i) {
        float error = b[i] - 1;  // the true bias is 1
        for (int j = 0; j < kIn; ++j) error += (w[i * kIn + j] - truth[i * kIn + j]) * x[j];
        for (int j = 0; j < kIn; ++j) dw[i * kIn + j] += error * x[j] / kBatch;
        db[i] += error / kBatch, loss += error * error / (2 * kBatch);
      }
    }
    if (step == 0) first = loss;
    if ((step + 1) % 40 == 0) std::printf("step %3d  loss %8.4f\n", step + 1, loss);
    optimizer.set_lr(0.05 * (kSteps - step) / kSteps);
    optimizer.step(gradients);
  }
  return loss < first / 1000 ? 0 : 1;
}
