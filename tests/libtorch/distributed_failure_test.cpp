// SPDX-License-Identifier: Apache-2.0
// Optimizers over real processes of which one is different, fails, stops or dies: the others say which, and why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "libtorch/rank_nets.h"
#include "trasmuon/libtorch/distributed.h"

namespace trasmuon::libtorch {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(DistributedFailure, RanksThatDifferAreToldWhere) {
  run_ranks(3, [](Rank& self) {
    const bool odd = self.rank == 2;
    Net net, doubles(odd ? torch::kFloat64 : torch::kFloat32);
    const auto refusal = [&](std::vector<OptimizerParamGroup> groups, DistributedOptions options = {}) {
      return error_of([&] { DistributedOptimizer(self.group, groups, MuonOptions{}, options); });
    };
    const auto differ = [](const std::string& where) {
      return AllOf(HasSubstr("distributed optimizer: ranks 0 and 2 must agree"), HasSubstr(where));
    };
    EXPECT_THAT(refusal(groups_for(net, MuonOptions{.lr = odd ? 0.2 : 0.1})), differ("lr = 0.1"));
    EXPECT_THAT(refusal(groups_for(net, odd ? Options(MuonOptions{}) : NorMuonOptions{})), differ("group 0: normuon"));
    EXPECT_THAT(refusal(groups_for(doubles, MuonOptions{})), differ("'up_weight' f64"));
    std::vector<torch::Tensor> order{net.up, net.down};
    if (odd) std::swap(order[0], order[1]);
    EXPECT_THAT(refusal({group(order, MuonOptions{})}), differ("[9, 12]"));
    std::vector<torch::Tensor> fewer{net.up};
    if (!odd) fewer.push_back(net.down);
    EXPECT_THAT(refusal({group(fewer, MuonOptions{})}), differ("parameter 1"));
    EXPECT_THAT(refusal(groups_for(net, MuonOptions{}), {.bucket_bytes = odd ? 1u : 2u}), differ("bucket_bytes 2"));

    std::vector<OptimizerParamGroup> rows = groups_for(net, MuonOptions{});
    cut_rows(rows, self);
    EXPECT_THAT(refusal(odd ? rows : groups_for(net, MuonOptions{})), differ("sharded"));
    EXPECT_THAT(refusal(rows, {.wire = odd ? DType::f32 : DType::bf16}), differ("wire f32"));
    std::vector<OptimizerParamGroup> gap = rows;
    if (odd) parameter_of(gap, "up_weight").shard->first_row = 3;
    EXPECT_THAT(refusal(gap), AllOf(HasSubstr("'up_weight'"), HasSubstr("from row 3")));

    // One rank refuses: all hear why, and who.
    const std::string bias = refusal({group({odd ? net.up_bias : net.up}, MuonOptions{})});
    EXPECT_THAT(bias, HasSubstr("needs at least two dimensions"));
    EXPECT_EQ(bias.starts_with("distributed optimizer: rank 2: "), !odd) << bias;
    std::vector<torch::Tensor> twice{net.up};
    if (odd) twice.push_back(net.up);  // torch's own constructor refuses this
    EXPECT_ANY_THROW(DistributedOptimizer(self.group, {group(twice, MuonOptions{})}));
    EXPECT_THAT(error_of([&] { DistributedOptimizer(c10::intrusive_ptr<WatchedGroup>(), rows); }),
                HasSubstr("group must not be null"));

    // The group still works.
    DistributedOptimizer optimizer(self.group, groups_for(net, MuonOptions{}));
    net.backward();
    optimizer.step();
  });
}

/// An optimizer of either layout over a net, beside one process that does the same.
struct Training {
  Training(Rank& rank, bool by_rows, DistributedOptions options = {})
      : self(rank), sharded(by_rows), whole(torch::kFloat64), net(torch::kFloat64) {
    groups = groups_for(net, rule);
    here = sharded ? cut_rows(groups, self) : tensors_of(groups);
    optimizer.emplace(self.group, groups, rule, options);
    reference.emplace(groups_for(whole, rule), rule);
  }
  static std::vector<torch::Tensor> tensors_of(const std::vector<OptimizerParamGroup>& groups) {
    std::vector<torch::Tensor> list;
    for (const OptimizerParamGroup& group : groups) {
      for (const torch::Tensor& tensor : group.params()) list.push_back(tensor);
    }
    return list;
  }

  void backward() {
    whole.backward();
    const std::vector<torch::Tensor> from = tensors_of(reference->param_groups());
    if (sharded) return cut_gradients(from, here, self);
    for (std::size_t i = 0; i < from.size(); ++i) here[i].mutable_grad() = from[i].grad().clone();
  }
  void step() {
    optimizer->step();
    reference->step();
  }
  void expect_equal_to_one_process() {
    const std::vector<torch::Tensor> expected = tensors_of(reference->param_groups());
    for (std::size_t i = 0; i < here.size(); ++i) {
      const torch::Tensor part = sharded ? rows_of(expected[i], self) : expected[i].detach();
      EXPECT_TRUE(here[i].detach().allclose(part, 1e-10, 1e-12)) << "parameter " << i << " of rank " << self.rank;
    }
  }
  /// Takes a step that must fail and leave everything as it was.
  std::string failing_step() {
    const std::vector<torch::Tensor> before = copies(here), state = state_of(*optimizer), state_before = copies(state);
    const std::int64_t applied = optimizer->applied();
    std::string error = "no error";
    try {
      optimizer->step();
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    EXPECT_NE(error, "no error");
    EXPECT_EQ(optimizer->applied(), applied);
    EXPECT_TRUE(same_bits(here, before));
    EXPECT_TRUE(same_bits(state, state_before));
    return error;
  }

  Rank& self;
  bool sharded;
  Options rule = TrasMuonOptions{.lr = 0.01};
  Net whole, net;
  std::vector<OptimizerParamGroup> groups;
  std::vector<torch::Tensor> here;  // up_weight, down_weight; then AdamW's: up_bias, gain, head
  std::optional<DistributedOptimizer> optimizer;
  std::optional<Optimizer> reference;
};

TEST(DistributedFailure, ARankThatRefusesAStepStopsAll) {
  run_ranks(3, [](Rank& self) {
    for (const bool sharded : {false, true}) {
      SCOPED_TRACE(sharded ? "sharded" : "replicated");
      for (int odd = 0; odd < 3; ++odd) {  // as owner of a matrix or of none
        const bool here = self.rank == odd;
        const std::string from_odd = "step 3: rank " + std::to_string(odd) + ": ";
        Training training(self, sharded, {.bucket_bytes = 1});
        for (int step = 0; step < 2; ++step) {
          training.backward();
          training.step();
        }
        // A gradient that does not fit, on every parameter.
        training.backward();
        if (here) {
          for (torch::Tensor& tensor : training.here) tensor.mutable_grad() = torch::ones({5, 5}, torch::kFloat64);
        }
        const std::string shape = training.failing_step();
        EXPECT_THAT(shape, HasSubstr("must have the weight's shape"));
        EXPECT_EQ(shape.find(from_odd) != std::string::npos, !here) << shape;
        // A gradient whose type only the core refuses.
        training.backward();
        if (here) {
          for (torch::Tensor& tensor : training.here) tensor.mutable_grad() = tensor.grad().to(torch::kInt32);
        }
        EXPECT_THAT(training.failing_step(), HasSubstr("dtype must be"));
        // Options that are refused, then options that differ.
        training.backward();
        auto& options = std::get<TrasMuonOptions>(training.optimizer->options());
        const double lr = options.lr;
        if (here) options.lr = -1;
        const std::string refused = training.failing_step();
        EXPECT_THAT(refused, HasSubstr("lr must be in [0, 1e+20], got -1"));
        EXPECT_EQ(refused.find(from_odd) != std::string::npos, !here) << refused;
        options.lr = here ? 0.5 : lr;
        EXPECT_THAT(training.failing_step(),
                    AllOf(HasSubstr("step 3: ranks 0 and " + std::to_string(odd == 0 ? 1 : odd) + " must agree"),
                          HasSubstr("lr = 0.5")));
        options.lr = lr;
        // A parameter that every rank steps has a gradient on some ranks only.
        training.backward();
        if (here) training.here[3].mutable_grad() = torch::Tensor();
        EXPECT_THAT(training.failing_step(), AllOf(HasSubstr("must agree"), HasSubstr("no gradient of 'gain'")));
        // Groups that have changed.
        training.backward();
        torch::Tensor& first = training.optimizer->param_groups()[0].params()[0];
        const torch::Tensor own = first;
        if (here) first = torch::zeros_like(own);
        EXPECT_THAT(training.failing_step(), HasSubstr("groups must stay as they were"));
        first = own;
        // Nothing was lost: the next steps are those of one process.
        for (int step = 0; step < 2; ++step) {
          training.backward();
          training.step();
        }
        training.expect_equal_to_one_process();
        EXPECT_EQ(training.optimizer->applied(), 4);
      }
    }
  });
}

TEST(DistributedFailure, MissingAndNonFiniteGradientsAreTheSameForAll) {
  run_ranks(3, [](Rank& self) {
    for (const bool sharded : {false, true}) {
      SCOPED_TRACE(sharded ? "sharded" : "replicated");
      Training training(self, sharded);
      std::vector<torch::Tensor> expected = Training::tensors_of(training.reference->param_groups());
      const int owner = training.optimizer->ownership().owners[0];
      // No rank has a gradient: the matrix is left alone.
      training.backward();
      training.here[0].mutable_grad() = expected[0].mutable_grad() = torch::Tensor();
      training.step();
      training.expect_equal_to_one_process();
      // One rank lacks it. By rows the gradient is incomplete and the step of the matrix is skipped on all ranks; of
      // copies the owner's counts.
      for (int odd = 0; odd < 3; ++odd) {
        training.backward();
        if (self.rank == odd) training.here[0].mutable_grad() = torch::Tensor();
        const torch::Tensor before = training.here[0].detach().clone();
        if (!sharded && odd == owner) expected[0].mutable_grad() = torch::Tensor();
        if (sharded) expected[0].mutable_grad().fill_(std::numeric_limits<double>::quiet_NaN());
        training.step();
        EXPECT_EQ(training.here[0].detach().equal(before), sharded || odd == owner);
        training.expect_equal_to_one_process();
      }
      // One entry of one rank is not finite: skipped on all.
      training.backward();
      expected[1].mutable_grad()[8][3] = std::numeric_limits<double>::infinity();
      if (!sharded || self.rank == 2) training.here[1].mutable_grad().select(0, -1)[3] = INFINITY;
      const torch::Tensor before = training.here[1].detach().clone();
      training.step();
      EXPECT_TRUE(training.here[1].detach().equal(before));
      training.expect_equal_to_one_process();
      training.backward();
      training.step();
      training.expect_equal_to_one_process();
    }
  });
}

constexpr milliseconds kTimeout(3'000), kPatience(4'000);

/// A store that one rank serves.
c10::intrusive_ptr<c10d::Store> store_of_rank(int server, const Rank& self) {
  c10d::TCPStoreOptions options;
  options.isServer = self.rank == server;
  options.waitWorkers = false;
  if (options.isServer) {
    options.port = 0;  // any
    auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    const std::string port = std::to_string(store->getPort());
    self.store->set("port", std::vector<std::uint8_t>(port.begin(), port.end()));
    return store;
  }
  const std::vector<std::uint8_t> port = self.store->get("port");
  options.port = static_cast<std::uint16_t>(std::stoi(std::string(port.begin(), port.end())));
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

/// Rank `lost` meets `action` before an exchange of step 3, and the others end with an error. `serves`: whether the
/// lost rank serves the store, as in scripts that are started without torchrun.
std::unique_ptr<RankProcesses> lose_rank(int lost, bool sharded, int exchange, const std::function<void()>& action,
                                         const std::string& expected, bool serves = false) {
  return std::make_unique<RankProcesses>(
      3,
      [=](Rank& self) {
        SCOPED_TRACE((sharded ? "sharded, exchange " : "replicated, exchange ") + std::to_string(exchange));
        const auto store = serves ? store_of_rank(lost, self) : self.store;
        Training training(self, sharded, {.bucket_bytes = 1, .store = store, .patience = kPatience});
        for (int step = 0; step < 2; ++step) {
          training.backward();
          training.step();
        }
        training.backward();
        if (self.rank == lost) self.group->before(exchange, action);
        const auto begin = std::chrono::steady_clock::now();
        const std::string error = training.failing_step();
        if (self.rank == lost) return;
        EXPECT_LT(std::chrono::steady_clock::now() - begin, kTimeout + kPatience + std::chrono::seconds(3));
        EXPECT_THAT(error,
                    AllOf(HasSubstr("step 3: "), HasSubstr("failed on rank " + std::to_string(self.rank) + " of 3: "),
                          HasSubstr(expected)));
      },
      kTimeout);
}

/// A step makes so many exchanges: by rows four; of copies one for each of two matrices, and one to agree.
constexpr int exchanges_of(bool sharded) { return sharded ? 4 : 3; }

void lose_a_rank_at_each_exchange(int signal) {
  struct Loss {
    std::unique_ptr<RankProcesses> processes;
    int rank;
  };
  std::vector<Loss> all;
  const auto action = [=] { raise(signal); };
  for (const bool sharded : {false, true}) {
    for (int exchange = 0; exchange < exchanges_of(sharded); ++exchange) {
      const int lost = (exchange + 2 * sharded) % 3;
      const std::string expected = "no answer within 4000 ms from rank " + std::to_string(lost);
      all.push_back({lose_rank(lost, sharded, exchange, action, expected), lost});
    }
  }
  const std::string no_store = "; the store does not answer, so the rank that serves it may be gone (";
  all.push_back({lose_rank(0, false, 1, action, no_store, true), 0});
  for (const Loss& loss : all) loss.processes->finish({loss.rank});
}

TEST(DistributedFailure, AKilledRankIsNamed) { lose_a_rank_at_each_exchange(SIGKILL); }

TEST(DistributedFailure, AStoppedRankIsNamed) { lose_a_rank_at_each_exchange(SIGSTOP); }

TEST(DistributedFailure, ASlowRankIsNamed) {
  const auto late = [] { std::this_thread::sleep_for(kTimeout + milliseconds(1'000)); };
  for (auto& processes :
       {lose_rank(2, false, 1, late, "rank 2 came last"), lose_rank(0, true, 2, late, "rank 0 came last")})
    processes->finish();
}

TEST(DistributedFailure, ARankMayBeSlow) {
  run_ranks(3, [](Rank& self) {
    for (const bool sharded : {false, true}) {
      Training training(self, sharded);
      for (int exchange = 0; exchange < exchanges_of(sharded); ++exchange) {
        if (self.rank == 1) self.group->before(exchange, [] { std::this_thread::sleep_for(milliseconds(100)); });
        training.backward();
        training.step();
      }
      training.expect_equal_to_one_process();
    }
  });
}

TEST(DistributedFailure, ARankThatDiesAfterItsLastExchangeHasSteppedTheOthers) {
  for (const bool sharded : {false, true}) {
    RankProcesses processes(3, [=](Rank& self) {
      Training training(self, sharded);
      training.backward();
      training.step();
      if (self.rank == 2) raise(SIGKILL);
      EXPECT_EQ(training.optimizer->applied(), 1);
      training.expect_equal_to_one_process();
    });
    processes.finish({2});
  }
}

}  // namespace
}  // namespace trasmuon::libtorch
