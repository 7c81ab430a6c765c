// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "trasmuon/c_api.h"
#include "trasmuon/optimizer.h"
#include "trasmuon/sharded_step.h"

struct trasmuon_options {
  trasmuon::Options options;
};

struct trasmuon_builder {
  std::vector<trasmuon::Group> groups;
  trasmuon::OptimizerOptions settings;
  std::size_t parameters = 0;
};

struct trasmuon_optimizer {
  trasmuon::Optimizer optimizer;
  std::vector<trasmuon::TensorView> gradients;  // kept between steps for its capacity
};

struct trasmuon_sharded_step {
  trasmuon::ShardedStep step;
  std::vector<trasmuon::TensorView> gradients;  // kept between steps for its capacity
};
