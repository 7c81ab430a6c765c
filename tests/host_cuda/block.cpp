// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block: a warp's lanes run in turn until each of them waits or has returned, then the next warp's.
#include "block.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fiber.h"
#include "host_cuda/launch.h"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace host_cuda {
namespace {

enum class State : std::uint8_t { ready, at_barrier, in_warp, returned };

struct Thread {
  Thread();

  std::unique_ptr<Fiber> fiber;
  State state = State::returned;
  uint3 index{};
  const char* waits_in = "";
  bool vote = false;              ///< for the block's barrier; then the result
  unsigned mask = 0, source = 0;  ///< for the warp
  std::uint64_t value = 0, got = 0;
};

const std::function<void()>* kernel = nullptr;
Thread* current = nullptr;
std::vector<Thread> threads;  // kept from block to block
bool backwards = false;

void thread_body() {
  (*kernel)();
  current->state = State::returned;
}

Thread::Thread() : fiber(std::make_unique<Fiber>(&thread_body)) {}

/// body(0) to body(count - 1), or the other way round.
template <class Body>
void for_each(std::size_t count, Body&& body) {
  for (std::size_t k = 0; k < count; ++k) body(backwards ? count - 1 - k : k);
}

std::string place() {
  return " in block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
         std::to_string(blockIdx.z) + ")";
}

void run(Thread& thread) {
  current = &thread;
  threadIdx = thread.index;
  thread.fiber->resume();
}

/// Whether all lanes of this lane's mask have come to the same place.
bool is_complete(std::span<const Thread> warp, const Thread& lane) {
  for (unsigned other = 0; other < kWarp; ++other) {
    if ((lane.mask >> other & 1u) == 0) continue;
    if (other >= warp.size() || warp[other].state != State::in_warp || warp[other].mask != lane.mask ||
        warp[other].waits_in != lane.waits_in) {
      return false;
    }
  }
  return true;
}

/// Lets go on those lanes that have waited for each other; whether there were any.
bool exchange(std::span<Thread> warp) {
  unsigned released = 0;
  for (unsigned k = 0; k < warp.size(); ++k) {
    const Thread& lane = warp[k];
    if ((released >> k & 1u) == 0 && lane.state == State::in_warp && is_complete(warp, lane)) released |= lane.mask;
  }
  for (unsigned k = 0; k < warp.size(); ++k) {
    if ((released >> k & 1u) == 0) continue;
    Thread& lane = warp[k];
    if ((lane.mask >> lane.source & 1u) == 0)
      throw KernelError(std::string(lane.waits_in) + " reads a lane that its mask does not name" + place());
    lane.got = warp[lane.source].value;
    lane.state = State::ready;
  }
  return released != 0;
}

/// Until every lane has returned or waits for the other warps.
void run_warp(std::span<Thread> warp) {
  do {
    for_each(warp.size(), [&](std::size_t k) {
      if (warp[k].state == State::ready) run(warp[k]);
    });
  } while (exchange(warp));
  for (const Thread& lane : warp) {
    if (lane.state != State::in_warp) continue;
    throw KernelError(std::string(lane.waits_in) + " waits for lanes that do not come" + place() + ", thread " +
                      std::to_string(lane.index.x));
  }
}

/// Releases the block's barrier. Threads that have returned are not waited for, as on a GPU.
bool pass_barrier(std::span<Thread> block) {
  const char* name = nullptr;
  bool any = false;
  for (const Thread& thread : block) {
    if (thread.state != State::at_barrier) continue;
    if (name == nullptr) name = thread.waits_in;
    if (name != thread.waits_in)
      throw KernelError(std::string("some threads wait in ") + name + ", others in " + thread.waits_in + place());
    any |= thread.vote;
  }
  for (Thread& thread : block) {
    if (thread.state != State::at_barrier) continue;
    thread.vote = any;
    thread.state = State::ready;
  }
  return name != nullptr;
}

void run_block(std::span<Thread> block) {
  for (std::size_t k = 0; k < block.size(); ++k) {
    const auto flat = static_cast<unsigned>(k);
    block[k].index = {flat % blockDim.x, flat / blockDim.x % blockDim.y, flat / blockDim.x / blockDim.y};
    block[k].state = State::ready;
  }
  do {
    for_each((block.size() + kWarp - 1) / kWarp, [&](std::size_t warp) {
      run_warp(block.subspan(warp * kWarp, std::min<std::size_t>(kWarp, block.size() - warp * kWarp)));
    });
  } while (pass_barrier(block));
}

}  // namespace

bool block_barrier(bool mine, const char* name) {
  Thread& thread = *current;
  thread.vote = mine;
  thread.waits_in = name;
  thread.state = State::at_barrier;
  Fiber::suspend();
  return thread.vote;
}

std::uint64_t warp_exchange(unsigned mask, std::uint64_t mine, unsigned source, const char* name) {
  Thread& thread = *current;
  thread.mask = mask;
  thread.source = source;
  thread.value = mine;
  thread.waits_in = name;
  thread.state = State::in_warp;
  Fiber::suspend();
  return thread.got;
}

unsigned lane() { return static_cast<unsigned>(current - threads.data()) % kWarp; }

void run_backwards(bool value) { backwards = value; }
bool runs_backwards() { return backwards; }

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  const std::size_t count = std::size_t{block.x} * block.y * block.z;
  if (threads.size() < count) threads.resize(count);
  kernel = &thread;
  gridDim = grid;
  blockDim = block;
  try {
    for_each(std::size_t{grid.x} * grid.y * grid.z, [&](std::size_t k) {
      const auto flat = static_cast<unsigned>(k);
      blockIdx = {flat % grid.x, flat / grid.x % grid.y, flat / grid.x / grid.y};
      run_block({threads.data(), count});
    });
  } catch (...) {
    threads.clear();  // those that wait would wait for ever
    throw;
  }
}

}  // namespace host_cuda
