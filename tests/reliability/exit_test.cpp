// SPDX-License-Identifier: Apache-2.0
//
// A program may end at any time: exit() runs destructors of statics while the pool and other threads still step.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "reliability/child.h"
#include "reliability/trajectory.h"

namespace trasmuon::test {
namespace {

constexpr int kExits = 25;

/// In a child: steps in the background for a while that depends on `round`.
void step_in_background(int round) {
  set_num_threads(3);
  std::thread([] {
    Model model(small_and_large());
    for (int step = 0;; ++step) model.train(step);
  }).detach();
  ::usleep(static_cast<useconds_t>(round) * 500);
}

TEST(Exit, WhileAnotherThreadSteps) {
  for (int round = 0; round < kExits; ++round) {
    ASSERT_EQ(end_in_child([&] {
                step_in_background(round);
                std::exit(0);
              }),
              "")
        << "round " << round;
  }
}

TEST(Exit, FromAThreadThatSteps) {
  for (int round = 0; round < kExits; ++round) {
    ASSERT_EQ(end_in_child([&] {
                step_in_background(round);
                std::thread([] {
                  Model(small_and_large()).train(0);
                  std::exit(0);
                }).join();
              }),
              "")
        << "round " << round;
  }
}

TEST(Exit, AStepInAnExitHandlerWorks) {
  for (int round = 0; round < kExits; ++round) {
    ASSERT_EQ(end_in_child([&] {
                // Registered before the library is used: it runs after whatever the library registers.
                std::atexit([] {
                  set_num_threads(2);
                  Model(small_and_large()).train(0);
                });
                step_in_background(round);
                std::exit(0);
              }),
              "")
        << "round " << round;
  }
}

}  // namespace
}  // namespace trasmuon::test
