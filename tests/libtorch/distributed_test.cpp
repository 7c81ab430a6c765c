// SPDX-License-Identifier: Apache-2.0
// Optimizers over real processes, with Gloo on loopback: they do what one process does.
#include "trasmuon/libtorch/distributed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "libtorch/rank_nets.h"

namespace trasmuon::libtorch {
namespace {

using testing::HasSubstr;

TEST(Distributed, ReplicatedIsOneProcessBitForBit) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_ranks(ranks, [](Rank& self) {
      for (const bool masters : {false, true}) {
        const torch::ScalarType type = masters ? torch::kBFloat16 : torch::kFloat32;
        const int steps = masters ? 50 : 200;
        Nets nets(type), alone(type);
        DistributedOptimizer optimizer(self.group, nets.groups, MuonOptions{},
                                       {.master_weights = masters, .bucket_bytes = 1000});
        Optimizer reference(alone.groups, MuonOptions{}, {.master_weights = masters});
        for (int step = 0; step < steps; ++step) {
          nets.backward();
          alone.backward();
          optimizer.step();
          reference.step();
        }
        for (std::size_t i = 0; i < nets.tensors.size(); ++i)
          EXPECT_TRUE(nets.tensors[i].equal(alone.tensors[i])) << nets.names[i];
        EXPECT_EQ(optimizer.applied(), steps);
        // Ten matrices are shared out evenly, as far as that goes.
        EXPECT_LT(optimizer.ownership().balance, 1.3);
        EXPECT_EQ(optimizer.ownership().idle, 0);
        // The owner alone keeps a matrix's state; every rank keeps that of AdamW.
        for (std::size_t i = 0; i < nets.tensors.size(); ++i) {
          const int owner = optimizer.ownership().owners[i];
          const bool here = owner == -1 || owner == self.rank;
          EXPECT_EQ(optimizer.state().count(state_key(nets.tensors[i])), here ? 1u : 0u) << nets.names[i];
        }
      }
    });
  }
}

/// How far rows that were stepped over ranks may be from those of one process, as a part of the way that these went.
struct Wire {
  torch::ScalarType weights;
  DType type;
  double tolerance;
  int steps = 200;
};

// Without 16 bits only the order of summation differs, in sums of doubles. With them M and O are rounded once each, by
// at most u of their size: 2^-9 in bf16, 2^-12 in f16. O has this error itself. That of M grows by the ratio of its
// largest to its smaller singular values before it reaches O, and NorMuon's division by the size of a row enlarges it
// once more. 27 u was the largest seen; twice this is allowed, in both types.
const Wire kWires[] = {{torch::kFloat64, DType::bf16, 1e-11},  // rows of f64 travel as f64
                       {torch::kFloat32, DType::f32, 1e-6, 50},
                       {torch::kFloat32, DType::f16, 54.0 / 4096},
                       {torch::kFloat32, DType::bf16, 54.0 / 512, 50}};

TEST(Distributed, ShardedIsOneProcessUpToTheWire) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_ranks(ranks, [](Rank& self) {
      std::vector<Options> rules = all_rules();
      for (Options& rule : rules)  // goes as far as the others, whose errors reach it through the gradients
        if (auto* trasmuon = std::get_if<TrasMuonOptions>(&rule)) trasmuon->rms_scale = 1;
      for (const Wire& wire : kWires) {
        Nets whole(wire.weights, rules);
        std::vector<OptimizerParamGroup> groups = whole.groups;
        std::vector<torch::Tensor> here = cut_rows(groups, self);
        DistributedOptimizer optimizer(self.group, groups, MuonOptions{}, {.wire = wire.type});
        Optimizer reference(whole.groups);
        std::vector<double> way(here.size());
        for (int step = 0; step < wire.steps; ++step) {
          whole.backward();
          cut_gradients(whole.tensors, here, self);
          const std::vector<torch::Tensor> before = copies(whole.tensors);
          optimizer.step();
          reference.step();
          for (std::size_t i = 0; i < way.size(); ++i)
            way[i] += (whole.tensors[i].detach() - before[i]).norm().item<double>();
        }
        bool rounded = false;
        for (std::size_t i = 0; i < here.size(); ++i) {
          const double distance = (here[i] - rows_of(whole.tensors[i], self)).norm().item<double>();
          EXPECT_LE(distance, wire.tolerance * way[i]) << whole.names[i] << " over " << to_string(wire.type);
          rounded |= distance > 1e-4 * way[i];
        }
        // The wire was really used: 16 bits are seen, and nothing else is that coarse.
        const bool coarse = self.ranks > 1 && wire.tolerance > 1e-3;
        EXPECT_EQ(rounded, coarse) << to_string(wire.type);
      }
    });
  }
}

TEST(Distributed, SameRanksGiveTheSameBits) {
  const std::string file = testing::TempDir() + "/distributed_bits.";
  for (const bool again : {false, true}) {
    run_ranks(3, [&](Rank& self) {
      Nets rows(torch::kFloat32, all_rules()), copied(torch::kFloat32);
      std::vector<OptimizerParamGroup> groups = rows.groups;
      std::vector<torch::Tensor> here = cut_rows(groups, self);
      DistributedOptimizer by_rows(self.group, groups), by_owner(self.group, copied.groups);
      rows.backward();
      cut_gradients(rows.tensors, here, self);
      for (int step = 0; step < 20; ++step) {
        copied.backward();
        by_rows.step();
        by_owner.step();
      }
      std::string bits;
      for (const std::vector<torch::Tensor>& list : {here, copied.tensors}) {
        for (const torch::Tensor& tensor : list)
          bits.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
      }
      const std::string name = file + std::to_string(self.rank);
      if (!again) std::ofstream(name, std::ios::binary) << bits;
      std::stringstream first;
      first << std::ifstream(name, std::ios::binary).rdbuf();
      EXPECT_EQ(first.str(), bits);
      if (again) std::remove(name.c_str());
    });
  }
}

/// Parameters of all layouts that can be cut: fused blocks, a convolution, experts, one row, one column.
std::vector<OptimizerParamGroup> odd_groups(std::vector<torch::Tensor>& tensors) {
  torch::manual_seed(7);
  const std::vector<std::vector<std::int64_t>> shapes{{12, 5}, {7, 2, 3, 3}, {5, 4, 3}, {1, 6}, {6, 1}, {33, 17}};
  for (const auto& shape : shapes) tensors.push_back(torch::randn(shape, torch::kFloat64));
  OptimizerParamGroup all = group(tensors, TrasMuonOptions{.lr = 0.01});
  for (const char* name : {"fused", "convolution", "experts", "row", "column", "large"})
    options_of(all).parameters.push_back({.name = name, .weight = {}});
  options_of(all).parameters[0].row_blocks = {5, 3, 4};
  return {all};
}

void set_gradients(const std::vector<torch::Tensor>& tensors, int step) {
  torch::manual_seed(static_cast<std::uint64_t>(100 + step));
  for (const torch::Tensor& tensor : tensors) {
    torch::Tensor weight = tensor;
    weight.mutable_grad() = torch::randn(tensor.sizes(), tensor.options());
  }
}

TEST(Distributed, EveryLayoutIsSteppedOverRanks) {
  for (const int ranks : {2, 4}) {
    run_ranks(ranks, [](Rank& self) {
      std::vector<torch::Tensor> whole, copied;
      const std::vector<OptimizerParamGroup> groups = odd_groups(whole), groups_of_copies = odd_groups(copied);
      std::vector<OptimizerParamGroup> groups_of_rows = groups;
      std::vector<torch::Tensor> here = cut_rows(groups_of_rows, self);
      // Weights with a row stride too.
      copied[5] = torch::empty({33, 20}, torch::kFloat64).narrow(1, 0, 17).copy_(copied[5]);
      std::vector<OptimizerParamGroup> strided = groups_of_copies;
      strided[0].params()[5] = copied[5];
      DistributedOptimizer by_rows(self.group, groups_of_rows),
          by_owner(self.group, strided, MuonOptions{}, {.bucket_bytes = 1});  // a bucket for each parameter
      Optimizer reference(groups);
      for (int step = 0; step < 10; ++step) {
        set_gradients(whole, step);
        set_gradients(copied, step);
        cut_gradients(whole, here, self);
        if (step == 5) {  // other memory
          here[0].set_data(here[0].clone());
          copied[0].set_data(copied[0].clone());
        }
        reference.step();
        by_rows.step();
        by_owner.step();
      }
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_TRUE(copied[i].equal(whole[i])) << "parameter " << i;
        EXPECT_TRUE(here[i].allclose(rows_of(whole[i], self), 1e-10, 1e-12)) << "parameter " << i;
      }
    });
  }
}

TEST(Distributed, WeightsThatOthersHaveWrittenAreFollowed) {
  run_ranks(3, [](Rank& self) {
    for (const bool sharded : {false, true}) {
      SCOPED_TRACE(sharded ? "sharded" : "replicated");
      Nets whole(torch::kBFloat16, all_rules());
      std::vector<OptimizerParamGroup> groups = Nets(torch::kBFloat16, all_rules()).groups;
      std::vector<torch::Tensor> here;
      if (sharded) {
        here = cut_rows(groups, self);
      } else {
        for (const OptimizerParamGroup& group : groups)
          here.insert(here.end(), group.params().begin(), group.params().end());
      }
      DistributedOptimizer optimizer(self.group, groups, MuonOptions{}, {.master_weights = true, .wire = DType::f32});
      Optimizer reference(whole.groups, MuonOptions{}, {.master_weights = true});
      for (int step = 0; step < 6; ++step) {
        whole.backward();
        for (std::size_t i = 0; i < here.size(); ++i) {
          const torch::Tensor gradient = whole.tensors[i].grad();
          here[i].mutable_grad() = sharded ? rows_of(gradient, self) : gradient.clone();
        }
        std::vector<std::int64_t> versions;
        for (const torch::Tensor& tensor : here) versions.push_back(tensor._version());
        optimizer.step();
        reference.step();
        // torch sees that weights have changed, and refuses a backward pass that needs the old ones.
        for (std::size_t i = 0; i < here.size(); ++i) {
          if (here[i].numel() == 0) continue;
          EXPECT_GT(here[i]._version(), versions[i]) << whole.names[i];
        }
        if (step != 2) continue;
        torch::NoGradGuard no_grad;
        for (const auto& list : {here, whole.tensors}) {
          for (torch::Tensor tensor : list) tensor.mul_(0.5);
        }
      }
      for (std::size_t i = 0; i < here.size(); ++i) {
        const torch::Tensor expected = sharded ? rows_of(whole.tensors[i], self) : whole.tensors[i].detach();
        EXPECT_TRUE(here[i].detach().equal(expected)) << whole.names[i];
      }
    }
  });
}

TEST(Distributed, RanksWithoutWorkAreSaid) {
  run_ranks(4, [](Rank& self) {
    torch::Tensor whole = torch::linspace(-1, 1, 6, torch::kFloat64).sin().reshape({2, 3});
    torch::Tensor copied = whole.clone();
    std::vector<OptimizerParamGroup> rows{group({whole}, MuonOptions{})};
    std::vector<torch::Tensor> here = cut_rows(rows, self);  // 1, 1, 0, 0
    DistributedOptimizer by_rows(self.group, rows), by_owner(self.group, {group({copied}, MuonOptions{})});
    Optimizer reference({group({whole}, MuonOptions{})});
    EXPECT_EQ(by_rows.ownership().idle, 3);
    EXPECT_EQ(by_owner.ownership().idle, 3);
    for (int step = 0; step < 3; ++step) {
      set_gradients({whole}, step);
      copied.mutable_grad() = whole.grad();
      cut_gradients({whole}, here, self);
      reference.step();
      by_rows.step();
      by_owner.step();
    }
    EXPECT_TRUE(copied.equal(whole));
    EXPECT_TRUE(here[0].allclose(rows_of(whole, self), 1e-12, 1e-14));
  });
}

// The bounds per parameter and step, summed over ranks: 4 (R-1)/R bytes for rows in 16 bits, and for copies the
// weight's own size times R-1, one for each receiver.
TEST(Distributed, NoMoreBytesTravelThanNecessary) {
  for (const int ranks : {2, 4}) {
    run_ranks(ranks, [](Rank& self) {
      std::vector<torch::Tensor> whole;
      for (const std::int64_t n : {48, 64, 96, 128}) whole.push_back(torch::ones({64, n}));
      std::vector<torch::Tensor> copied = copies(whole);
      std::vector<OptimizerParamGroup> groups{group(whole, TrasMuonOptions{})};
      std::vector<torch::Tensor> here = cut_rows(groups, self);
      set_gradients(whole, 1);
      set_gradients(copied, 1);
      cut_gradients(whole, here, self);
      DistributedOptimizer by_rows(self.group, groups), by_owner(self.group, {group(copied, TrasMuonOptions{})});
      WatchedGroup& watched = *self.group;
      watched.numbers = watched.rows_sent = watched.weights_sent = watched.exchanges = 0;
      by_rows.step();
      EXPECT_EQ(watched.exchanges, 4);
      // Two doubles more per matrix than columns in the first all-reduce, two in the second, and one vote per rank.
      EXPECT_EQ(watched.numbers, 8 * (48 + 64 + 96 + 128 + 4 * 4 + self.ranks));
      by_owner.step();
      EXPECT_EQ(watched.exchanges, 4 + self.ranks + 1);  // one bucket for each owner, and the vote
      torch::Tensor sent = torch::tensor({watched.rows_sent, watched.weights_sent});
      std::vector<torch::Tensor> list{sent};
      self.group->allreduce(list, {})->wait();
      const double parameters = 64 * (48 + 64 + 96 + 128), others = self.ranks - 1;
      EXPECT_LE(sent[0].item<double>(), 1.01 * 4 * others / self.ranks * parameters);
      EXPECT_LE(sent[1].item<double>(), 1.01 * 4 * others * parameters);
      DistributedOptimizer in_buckets(self.group, {group(copied, TrasMuonOptions{})}, {}, {.bucket_bytes = 1});
      watched.exchanges = 0;
      in_buckets.step();
      EXPECT_EQ(watched.exchanges, 4 + 1);  // one for each matrix
    });
  }
}

std::string archive_of(const DistributedOptimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::stringstream stream;
  archive.save_to(stream);
  return stream.str();
}

bool same_contents(const std::string& one, const std::string& other) {
  const auto read = [](const std::string& bytes) {
    std::stringstream stream(bytes);
    torch::serialize::InputArchive archive;
    archive.load_from(stream);
    return detail::read_groups(archive);
  };
  const std::vector<detail::SavedGroup> a = read(one), b = read(other);
  detail::check_fit(a, b);
  for (std::size_t g = 0; g < a.size(); ++g) {
    for (std::size_t i = 0; i < a[g].parameters.size(); ++i) {
      for (const auto& [name, tensor] : a[g].parameters[i].state) {
        if (!tensor.equal(b[g].parameters[i].state.at(name))) return false;
      }
    }
  }
  return true;
}

template <class AnyOptimizer>
void load(AnyOptimizer& optimizer, const std::string& bytes) {
  std::stringstream stream(bytes);
  torch::serialize::InputArchive archive;
  archive.load_from(stream);
  optimizer.load(archive);
}

TEST(Distributed, StateIsSavedWholeAndLoadedByOtherNumbersOfRanks) {
  const std::string file = testing::TempDir() + "/distributed_state.";
  run_ranks(3, [&](Rank& self) {
    std::vector<torch::Tensor> whole, copied;
    const std::vector<OptimizerParamGroup> groups = odd_groups(whole), groups_of_copies = odd_groups(copied);
    std::vector<OptimizerParamGroup> groups_of_rows = groups;
    std::vector<torch::Tensor> here = cut_rows(groups_of_rows, self);
    DistributedOptimizer by_rows(self.group, groups_of_rows), by_owner(self.group, groups_of_copies);
    Optimizer reference(groups);
    for (int step = 0; step < 5; ++step) {
      set_gradients(whole, step);
      set_gradients(copied, step);
      cut_gradients(whole, here, self);
      by_rows.step();
      by_owner.step();
      reference.step();
    }
    const std::string rows = archive_of(by_rows), owned = archive_of(by_owner);
    for (const std::string& bytes : {rows, owned}) {
      std::vector<torch::Tensor> others;
      Optimizer alone(odd_groups(others));
      load(alone, bytes);
      for (std::size_t i = 0; i < alone.core().parameter_count(); ++i) {
        for (const auto& tensor : alone.core().state(i)) {
          const auto expected = reference.core().state(i, tensor.spec.name);
          const auto options = torch::TensorOptions(detail::scalar_type_of(tensor.spec.dtype));
          const torch::Tensor a = torch::from_blob(tensor.view.data, {tensor.spec.shape.elements()}, options);
          const torch::Tensor b = torch::from_blob(expected.data, {tensor.spec.shape.elements()}, options);
          EXPECT_TRUE(a.allclose(b, 1e-10, 1e-12)) << alone.core().parameter(i).name << " " << tensor.spec.name;
        }
      }
    }
    // What a rank loads is what it saves again, also when the archive comes from the other layout.
    load(by_rows, owned);
    load(by_owner, rows);
    EXPECT_TRUE(same_contents(archive_of(by_rows), owned));
    EXPECT_TRUE(same_contents(archive_of(by_owner), rows));
    if (self.rank == 0) std::ofstream(file, std::ios::binary) << owned;
  });
  run_ranks(2, [&](Rank& self) {
    std::stringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    std::vector<torch::Tensor> whole;
    std::vector<OptimizerParamGroup> groups = odd_groups(whole);
    std::vector<torch::Tensor> here = cut_rows(groups, self);
    DistributedOptimizer optimizer(self.group, groups);
    load(optimizer, bytes.str());
    EXPECT_TRUE(same_contents(archive_of(optimizer), bytes.str()));
    // One rank's archive does not fit: no rank loads.
    options_of(groups[0]).rule = MuonOptions{};
    DistributedOptimizer muon(self.group, groups);
    const std::string before = archive_of(muon), own = self.rank == 1 ? bytes.str() : before;
    EXPECT_THAT(error_of([&] { load(muon, own); }), HasSubstr("rule must be muon, got trasmuon"));
    EXPECT_TRUE(same_contents(archive_of(muon), before));
  });
  std::remove(file.c_str());
}

TEST(Distributed, MomentumInBf16IsSaved) {  // which the Gloo of LibTorch 1.13 does not know
  run_ranks(2, [](Rank& self) {
    const Options rule = TrasMuonOptions{.momentum_dtype = MomentumDType::bf16};
    Net net, alone;
    std::vector<OptimizerParamGroup> groups = groups_for(alone, rule);
    cut_rows(groups, self);
    DistributedOptimizer by_owner(self.group, groups_for(net, rule)), by_rows(self.group, groups);
    net.backward();
    by_owner.step();
    const std::string saved = archive_of(by_owner);
    load(by_rows, saved);
    EXPECT_TRUE(same_contents(archive_of(by_rows), saved));
  });
}

}  // namespace
}  // namespace trasmuon::libtorch
