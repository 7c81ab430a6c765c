// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/error.h>

#include <functional>

namespace trasmuon::lab {

/// What a rank throws that could not exchange something with the others. It is not the cause: another rank has failed.
class LostRank : public Error {
  using Error::Error;
};

/// Calls work(0) in this process and work(1), ..., work(ranks - 1) in forked ones, and returns when all have ended. If
/// one fails, ends the others and throws Error naming its rank. The others end with this process. It must not yet have
/// threads or have used a GPU, which a forked process cannot do after it.
void run_ranks(int ranks, const std::function<void(int rank)>& work);

}  // namespace trasmuon::lab
