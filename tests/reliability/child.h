// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace trasmuon::test {

/// Forks, runs `body` in the child and waits for its end. Returns "" if body returned true, otherwise what happened. A
/// child that hangs is killed after half a minute.
std::string run_in_child(const std::function<bool()>& body);

/// The same, for a body that ends the process itself and must end it with exit code 0.
std::string end_in_child(const std::function<void()>& body);

}  // namespace trasmuon::test
