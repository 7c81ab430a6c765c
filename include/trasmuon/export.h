// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Exports a symbol from the shared library; everything else in it is hidden.
#define TRASMUON_API __attribute__((visibility("default")))
