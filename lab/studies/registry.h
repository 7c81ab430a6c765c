// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/studies/study.h"

// One function per study; registry.cpp lists them.
namespace trasmuon::lab {

const Study* mechanistic_study();
const Study* pinn_study();  ///< null in a build without LibTorch

}  // namespace trasmuon::lab
