// SPDX-License-Identifier: Apache-2.0
// Parameters on a GPU: the same optimizer as on the CPU.
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <sstream>

#include "libtorch/net.h"
#include "libtorch/on_gpu.h"
#include "support/error_of.h"

namespace trasmuon::libtorch {
namespace {

using test::error_of;

using LibtorchCuda = LibtorchOnGpu;

const torch::Device kGpu(torch::kCUDA, 0);

std::vector<Options> rules_on_gpu() {
  return {TrasMuonOptions{.lr = 0.01}, NorMuonOptions{}, MuonOptions{}, AdamWOptions{}};
}

/// Largest distance of two lists of tensors, wherever they are.
double distance(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const torch::Tensor apart = a[i].detach().cpu().to(torch::kFloat64) - b[i].detach().cpu().to(torch::kFloat64);
    const double largest = apart.abs().max().item<double>();
    worst = largest <= worst ? worst : largest;  // NaN counts as different
  }
  return worst;
}

const detail::StateTensors& state_of(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  return static_cast<const ParamState&>(*optimizer.state().at(state_key(parameter))).tensors;
}

void train(Net& net, torch::optim::Optimizer& optimizer, int steps) {
  for (int step = 0; step < steps; ++step) {
    net.backward();
    optimizer.step();
  }
}

TEST_F(LibtorchCuda, TrainingFollowsTheCpu) {
  for (const Options& rule : rules_on_gpu()) {
    Net ours(torch::kFloat64), theirs(torch::kFloat64);
    ours.to(kGpu);
    Optimizer optimizer(groups_for(ours, rule), rule), reference(groups_for(theirs, rule), rule);
    train(ours, optimizer, 30);
    train(theirs, reference, 30);
    // Rounding alone leaves 2e-13 (TrasMuon, relative errors of 1e-15 in the gradients).
    EXPECT_LE(distance(ours.parameters(), theirs.parameters()), 1e-10) << rule_name(rule);
    EXPECT_EQ(ours.up.device(), kGpu);
  }
}

TEST_F(LibtorchCuda, EveryRuleLearns) {
  for (const Options& rule : rules_on_gpu()) {
    Net net;
    net.to(kGpu);
    Optimizer optimizer(groups_for(net, rule, {.lr = 0.02}), rule);
    const double before = net.loss().item<double>();
    for (int step = 0; step < 150; ++step) {
      optimizer.zero_grad();
      net.loss().backward();
      optimizer.step();
    }
    EXPECT_LT(net.loss().item<double>(), 0.1 * before) << rule_name(rule);
  }
}

TEST_F(LibtorchCuda, SixteenBitParametersFollowTheCpu) {
  const TrasMuonOptions on_cpu{.lr = 0.02, .ns_form = NewtonSchulzForm::standard};
  TrasMuonOptions on_gpu = on_cpu;
  on_gpu.ns_precision = NewtonSchulzPrecision::f32;
  for (const torch::ScalarType type : {torch::kBFloat16, torch::kFloat16}) {
    for (const bool masters : {false, true}) {
      torch::manual_seed(1);
      torch::Tensor theirs = torch::randn({96, 40}).to(type), ours = theirs.to(kGpu);
      TrasMuon optimizer({ours}, on_gpu, {.master_weights = masters});
      TrasMuon reference({theirs}, on_cpu, {.master_weights = masters});
      for (int step = 0; step < 10; ++step) {
        const torch::Tensor gradient = torch::randn({96, 40}).to(type);
        ours.mutable_grad() = gradient.to(kGpu);
        theirs.mutable_grad() = gradient;
        optimizer.step();
        reference.step();
      }
      SCOPED_TRACE(detail::text_of(type) + (masters ? " with masters" : ""));
      EXPECT_LE(distance({ours}, {theirs}), 0.04);  // a unit in the last place of bf16 at 4 is 0.03
      if (!masters) continue;
      EXPECT_LE(distance({state_of(optimizer, ours).at("master")}, {state_of(reference, theirs).at("master")}), 1e-4);
    }
  }
}

TEST_F(LibtorchCuda, AMasterFollowsWhatOthersWrite) {
  torch::Tensor weight = torch::ones({9, 7}, torch::TensorOptions(kGpu).dtype(torch::kBFloat16));
  AdamW optimizer({weight}, {.lr = 1e-4, .weight_decay = 0}, {.master_weights = true});
  const auto small_step = [&] {
    weight.mutable_grad() = torch::ones_like(weight);
    optimizer.step();
    return state_of(optimizer, weight).at("master");
  };
  EXPECT_NEAR(small_step().min().item<double>(), 1 - 1e-4, 1e-6);
  weight.fill_(3);
  EXPECT_NEAR(small_step().max().item<double>(), 3 - 1e-4, 1e-5);
}

TEST_F(LibtorchCuda, GradientsOfAnyKind) {
  const auto trained = [](auto&& prepare) {
    torch::Tensor weight = torch::linspace(-1, 1, 9 * 7).reshape({9, 7}).to(kGpu);
    torch::Tensor other = weight.clone();
    TrasMuon optimizer({weight, other}, {.lr = 0.1});
    torch::manual_seed(3);
    std::vector<torch::Tensor> kept;  // so that each gradient has another address
    for (int step = 0; step < 10; ++step) {
      kept.push_back(prepare(torch::randn({9, 7}).to(kGpu)));
      weight.mutable_grad() = kept.back();
      other.mutable_grad() = step % 2 == 0 ? kept.back() : torch::Tensor();
      optimizer.step();
    }
    EXPECT_EQ(state_of(optimizer, other).at("step").item<std::int64_t>(), 5);
    return weight;
  };
  const torch::Tensor expected = trained([](const torch::Tensor& g) { return g; });
  EXPECT_TRUE(trained([](const torch::Tensor& g) { return g.t().contiguous().t(); }).equal(expected));
  EXPECT_TRUE(trained([](const torch::Tensor& g) { return torch::_neg_view(-g); }).equal(expected));
}

TEST_F(LibtorchCuda, StateIsOnTheParametersDevice) {
  Net net;
  net.to(kGpu);
  TrasMuon optimizer(net);
  for (const torch::Tensor& parameter : net.parameters()) {
    for (const auto& [name, tensor] : state_of(optimizer, parameter)) EXPECT_EQ(tensor.device(), kGpu) << name;
  }
  train(net, optimizer, 1);
  EXPECT_EQ(state_of(optimizer, net.up).at("step").item<std::int64_t>(), 1);
  EXPECT_GT(state_of(optimizer, net.up).at("momentum").abs().max().item<double>(), 0);
}

TEST_F(LibtorchCuda, ArchivesCarryOverBetweenDevices) {
  const auto saved = [](const torch::optim::Optimizer& optimizer) {
    std::ostringstream stream;
    torch::save(optimizer, stream);
    return stream.str();
  };
  const auto load = [](torch::optim::Optimizer& optimizer, const std::string& bytes) {
    std::istringstream stream(bytes);
    torch::load(optimizer, stream);
  };
  const auto take_weights = [](Net& to, const Net& from) {
    for (std::size_t i = 0; i < to.parameters().size(); ++i) {
      torch::NoGradGuard no_grad;
      to.parameters()[i].copy_(from.parameters()[i]);
    }
  };
  Net gpu(torch::kFloat64), cpu(torch::kFloat64, /*seed=*/2), back(torch::kFloat64, /*seed=*/3);
  gpu.to(kGpu);
  back.to(kGpu);
  TrasMuon on_gpu(gpu, {.lr = 0.01}), on_cpu(cpu), again(back);
  train(gpu, on_gpu, 7);
  take_weights(cpu, gpu);
  load(on_cpu, saved(on_gpu));
  EXPECT_EQ(distance({state_of(on_cpu, cpu.up).at("momentum")}, {state_of(on_gpu, gpu.up).at("momentum")}), 0);
  EXPECT_EQ(std::get<TrasMuonOptions>(on_cpu.options()).lr, 0.01);
  take_weights(back, cpu);
  load(again, saved(on_cpu));
  EXPECT_EQ(state_of(again, back.up).at("momentum").device(), kGpu);
  for (auto [net, optimizer] : {std::pair(&gpu, &on_gpu), std::pair(&cpu, &on_cpu), std::pair(&back, &again)}) {
    train(*net, *optimizer, 5);
  }
  EXPECT_TRUE(same_bits(gpu.parameters(), back.parameters()));
  EXPECT_LE(distance(gpu.parameters(), cpu.parameters()), 1e-10);
}

TEST_F(LibtorchCuda, CpuAndGpuInOneOptimizer) {
  torch::manual_seed(1);
  const torch::Tensor start = torch::randn({24, 16}, torch::kFloat64);
  torch::Tensor here = start.clone(), there = start.to(kGpu);
  TrasMuon optimizer({here, there}, {.lr = 0.02});
  for (int step = 0; step < 20; ++step) {
    here.mutable_grad() = torch::randn({24, 16}, torch::kFloat64);
    there.mutable_grad() = here.grad().to(kGpu);
    optimizer.step();
  }
  EXPECT_LE(distance({here}, {there}), 1e-10);
  EXPECT_GT(distance({here}, {start}), 0.1);
}

TEST_F(LibtorchCuda, AModelThatIsMovedAfterwardsIsRefused) {
  Net net;
  TrasMuon optimizer(net);
  train(net, optimizer, 1);
  const auto before = copies(net.parameters());
  net.to(kGpu);
  net.backward();
  EXPECT_EQ(error_of([&] { optimizer.step(); }),
            "parameter 'up_weight': must stay on cpu, got device cuda:0; build the optimizer after moving the model");
  net.to(torch::kCPU);
  EXPECT_TRUE(same_bits(net.parameters(), before));
  train(net, optimizer, 1);
  EXPECT_EQ(state_of(optimizer, net.up).at("step").item<std::int64_t>(), 2);
}

TEST_F(LibtorchCuda, AGradientOnAnotherDeviceIsRefused) {
  torch::Tensor weight = torch::ones({4, 3}, kGpu);
  Muon optimizer({weight}, {});
  weight.mutable_grad() = torch::ones({4, 3});
  EXPECT_EQ(error_of([&] { optimizer.step(); }),
            "gradient of 'group0.0': must be on cuda:0, as the weight, got device cpu");
}

}  // namespace
}  // namespace trasmuon::libtorch
