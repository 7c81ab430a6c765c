// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/study/study.h"

namespace trasmuon::lab {

const Study& vision_study();

}  // namespace trasmuon::lab
