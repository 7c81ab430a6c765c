// SPDX-License-Identifier: Apache-2.0
// Prints the option tables that docs/api.md shows.
#include <cstdio>

#include "trasmuon/options.h"

int main() {
  for (const char* rule : {"trasmuon", "normuon", "muon", "dion", "adamw"}) {
    std::fputs(trasmuon::describe(trasmuon::options_for(rule)).c_str(), stdout);
  }
}
