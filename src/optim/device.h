// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "stages/backend.h"
#include "trasmuon/device.h"

namespace trasmuon {

/// Loads the device's backend; throws Error with the reason if the device cannot be used.
std::unique_ptr<Backend> make_backend(Device device);

}  // namespace trasmuon
