// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trasmuon/agreement.h"
#include "trasmuon/checkpoint.h"
#include "trasmuon/classify.h"
#include "trasmuon/device.h"
#include "trasmuon/diagnostics.h"
#include "trasmuon/error.h"
#include "trasmuon/newton_schulz.h"
#include "trasmuon/optimizer.h"
#include "trasmuon/options.h"
#include "trasmuon/orthogonalize.h"
#include "trasmuon/ownership.h"
#include "trasmuon/sharded_step.h"
#include "trasmuon/tensor.h"
#include "trasmuon/threads.h"
#include "trasmuon/version.h"
