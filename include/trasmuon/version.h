// SPDX-License-Identifier: Apache-2.0
#pragma once

#define TRASMUON_VERSION_MAJOR 0
#define TRASMUON_VERSION_MINOR 1
#define TRASMUON_VERSION_PATCH 0
#define TRASMUON_VERSION "0.1.0"
