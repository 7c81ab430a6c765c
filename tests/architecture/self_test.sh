#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plants violations in a small tree and expects check_tree.sh to name file and line of each. Then takes one label after
# the other out of the stages of a copy of the backends and expects check_labels.sh to miss it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=$here/check_tree.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
spdx='// SPDX-License-Identifier: Apache-2.0'

plant() {
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$tree/$1"
}

fail() {
  echo "self test: $1"
  exit 1
}

# expect_violation PLACE FILE LINES...: the planted file is the only violation, reported at PLACE.
expect_violation() {
  local output
  plant "${@:2}"
  if output=$(bash "$check" "$tree"); then fail "$2 was accepted"; fi
  [[ $output == "$1: "* && $output == *"architecture: 1 violation(s)" ]] || fail "expected one violation at $1, got: $output"
  rm "$tree/$2"
}

plant include/trasmuon/good.h "$spdx" '#include <vector>' '#include "trasmuon/other.h"'
plant include/trasmuon/good_c.h '/* SPDX-License-Identifier: Apache-2.0 */' '#include <stdint.h>'
plant include/trasmuon/libtorch.h "$spdx" '#include <torch/types.h>' '#include "trasmuon/libtorch/good.h"'
plant include/trasmuon/libtorch/good.h "$spdx" '#include <ATen/Parallel.h>' '#include "trasmuon/tensor.h"'
plant src/cpu/isa/good.inl "$spdx" '  #  include "stages/matrix.h"  // why' '#include "cpu/products/gemm.h"'
plant src/cuda/good.cpp "$spdx" '#include <cuda_runtime.h>' '#include "cuda/passes/passes.h"' '#include "cuda/hopper/box.h"'
plant src/cuda/runtime/good.h "$spdx" '#include <cublas_v2.h>' '#include "cuda/runtime/check.h"'
plant src/cuda/passes/good.cu "$spdx" '#include <cuda_fp16.h>' '#include "cuda/runtime/launch.cuh"' '#include "stages/stages.h"'
plant src/cuda/newton_schulz/good.cpp "$spdx" '#include "cuda/hopper/tile_sizes.h"' '#include "cuda/passes/input_scale.h"'
plant src/cuda/hopper/good.cuh "$spdx" '#include <cuda.h>' '#include "cuda/hopper/box.h"'
plant src/checkpoint/good.cpp "$spdx" '#include "checkpoint/file.h"' '#include <sys/stat.h>'
plant lab/records/good.cpp "$spdx" '#include <signal.h>' '#include <nlohmann/json.hpp>' '#include "lab/records/json.h"'
plant python/libtrasmuon/good.py '# SPDX-License-Identifier: Apache-2.0' 'import torch' 'from ctypes import byref' 'from ._core import Core'
plant tools/good '#!/usr/bin/env bash' '# SPDX-License-Identifier: Apache-2.0' 'echo https://example.org/home/page docs/mnt/x'
bash "$check" "$tree" || fail 'the clean tree was refused'

expect_violation include/trasmuon/bad.h:3 include/trasmuon/bad.h "$spdx" '#include <span>' '#include "stages/matrix.h"'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include <torch/torch.h>'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include "trasmuon/libtorch.h"'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include <unistd.h>'
expect_violation include/trasmuon/libtorch/bad.h:2 include/trasmuon/libtorch/bad.h "$spdx" '#include "stages/matrix.h"'
expect_violation src/optim/bad.cpp:2 src/optim/bad.cpp "$spdx" '#include "trasmuon/libtorch/tensors.h"'
expect_violation lab/records/bad.cpp:2 lab/records/bad.cpp "$spdx" '#include "lab/study/study.h"'
expect_violation lab/recipe/bad.h:2 lab/recipe/bad.h "$spdx" '#include <CLI/CLI.hpp>'
expect_violation lab/report/bad.h:2 lab/report/bad.h "$spdx" '#include "lab/mechanistic/report/report.h"'
expect_violation lab/mechanistic/bad.cpp:2 lab/mechanistic/bad.cpp "$spdx" '#include "lab/pinn/mlp.h"'
expect_violation lab/mechanistic/bad.cpp:2 lab/mechanistic/bad.cpp "$spdx" '#include <torch/types.h>'
expect_violation lab/runner/bad.cpp:2 lab/runner/bad.cpp "$spdx" '#include "lab/pinn/study.h"'
expect_violation python/libtrasmuon/bad.py:2 python/libtrasmuon/bad.py '# SPDX-License-Identifier: Apache-2.0' 'import numpy'
expect_violation python/libtrasmuon/bad.py:3 python/libtrasmuon/bad.py '# SPDX-License-Identifier: Apache-2.0' 'import os' '    from transformers import Trainer'
expect_violation src/base/bad.cpp:2 src/base/bad.cpp "$spdx" '#include "cpu/products/gemm.h"'
expect_violation src/stages/bad.cpp:2 src/stages/bad.cpp "$spdx" '#include "cpu/backend.h"'
expect_violation src/cpu/isa/bad.inl:2 src/cpu/isa/bad.inl "$spdx" '#include "optim/rule.h"'
expect_violation src/cuda/bad.cpp:2 src/cuda/bad.cpp "$spdx" '#include "optim/rule.h"'
expect_violation src/cuda/bad.cpp:2 src/cuda/bad.cpp "$spdx" '#include <cublas_v2.h>'
expect_violation src/cuda/runtime/bad.h:2 src/cuda/runtime/bad.h "$spdx" '#include "stages/matrix.h"'
expect_violation src/cuda/runtime/bad.h:2 src/cuda/runtime/bad.h "$spdx" '#include "cuda/passes/step_data.h"'
expect_violation src/cuda/passes/bad.cu:2 src/cuda/passes/bad.cu "$spdx" '#include "cuda/hopper/tile_sizes.h"'
expect_violation src/cuda/passes/bad.cu:2 src/cuda/passes/bad.cu "$spdx" '#include "cuda/plan.h"'
expect_violation src/cuda/newton_schulz/bad.cpp:2 src/cuda/newton_schulz/bad.cpp "$spdx" '#include "cuda/passes/passes.h"'
expect_violation src/cuda/newton_schulz/bad.cpp:2 src/cuda/newton_schulz/bad.cpp "$spdx" '#include "cuda/matrix_batch.h"'
expect_violation src/cuda/hopper/bad.cuh:2 src/cuda/hopper/bad.cuh "$spdx" '#include "cuda/runtime/check.h"'
expect_violation src/cuda/hopper/bad.cuh:2 src/cuda/hopper/bad.cuh "$spdx" '#include "trasmuon/error.h"'
expect_violation src/cuda/new_room/bad.h:1 src/cuda/new_room/bad.h "$spdx"
expect_violation src/optim/bad.cpp:2 src/optim/bad.cpp "$spdx" ' # include "cpu/backend.h"'
expect_violation src/optim/bad.cpp:2 src/optim/bad.cpp "$spdx" '#include "stages/../cpu/backend.h"'
expect_violation src/checkpoint/bad.h:2 src/checkpoint/bad.h "$spdx" '#include "optim/rule.h"'
expect_violation src/c_api/bad.cpp:2 src/c_api/bad.cpp "$spdx" '#include "optim/rule.h"'
expect_violation src/new_layer/bad.cpp:1 src/new_layer/bad.cpp "$spdx"
expect_violation tests/bad.cpp:1 tests/bad.cpp 'int main() {}'
# In two pieces, so that this file is no violation itself.
for home in /home /root /Users; do
  expect_violation docs/bad.md:2 docs/bad.md 'Build it:' "cd $home/somebody/trasmuon"
  expect_violation CMakeLists.txt:1 CMakeLists.txt "set(dir \"$home/somebody\")"
done

rm -r "${tree:?}"/*
mkdir "$tree/docs"
cp "$here/../../docs/algorithm.md" "$tree/docs"
cp -r "$here/../../src" "$tree"
bash "$here/check_labels.sh" "$tree" || fail 'the labels of this tree were refused'
mapfile -t labels < <(sed -n '/^readonly labels/,/^)/p' "$here/check_labels.sh" | grep -o 'eq:[a-z_0-9]*')
((${#labels[@]} > 10)) || fail 'no labels were found in check_labels.sh'
for label in "${labels[@]}"; do
  grep -rlwF "$label" "$tree"/src/{cpu,cuda} --exclude='step.*' --exclude='cut_*' | xargs sed -i "s/$label\\b/gone/g"
  if output=$(bash "$here/check_labels.sh" "$tree"); then fail "stages without $label were accepted"; fi
  for backend in src/cpu src/cuda; do
    grep -qxF "$backend: no stage has the label $label" <<<"$output" || fail "$backend without $label: got $output"
  done
  cp -r "$here"/../../src/{cpu,cuda} "$tree/src"
done
