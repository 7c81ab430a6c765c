// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trasmuon::test {

/// Replaces operator new of the whole program: while one of these lives, the k-th allocation from its start fails, in
/// whichever thread it is; with `and_later` all that follow fail too.
class FailAllocation {
 public:
  FailAllocation(long k, bool and_later);
  FailAllocation(const FailAllocation&) = delete;
  FailAllocation& operator=(const FailAllocation&) = delete;
  ~FailAllocation();

  bool happened() const;
};

/// Allocations that have not been freed.
long live_allocations();

}  // namespace trasmuon::test
