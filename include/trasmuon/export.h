// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library exports; everything else in it is hidden.
#define TRASMUON_API __attribute__((visibility("default")))
