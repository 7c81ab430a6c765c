// SPDX-License-Identifier: Apache-2.0
#include "lab/studies/registry.h"

namespace trasmuon::lab {

const Study* pinn_study() { return nullptr; }

}  // namespace trasmuon::lab
