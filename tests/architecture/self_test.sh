#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Plants violations in a small tree and expects check_tree.sh to name file and line of each.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/check_tree.sh
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
plant src/cpu/isa/good.inl "$spdx" '  #  include "stages/matrix.h"  // why' '#include "cpu/gemm.h"'
plant src/checkpoint/good.cpp "$spdx" '#include <nlohmann/json.hpp>' '#include <sys/stat.h>'
plant lab/records/good.cpp "$spdx" '#include <signal.h>' '#include "lab/config/json.h"'
plant tools/good '#!/usr/bin/env bash' '# SPDX-License-Identifier: Apache-2.0' 'echo https://example.org/home/page docs/mnt/x'
bash "$check" "$tree" || fail 'the clean tree was refused'

expect_violation include/trasmuon/bad.h:3 include/trasmuon/bad.h "$spdx" '#include <span>' '#include "stages/matrix.h"'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include <torch/torch.h>'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include "trasmuon/libtorch.h"'
expect_violation include/trasmuon/bad.h:2 include/trasmuon/bad.h "$spdx" '#include <unistd.h>'
expect_violation include/trasmuon/libtorch/bad.h:2 include/trasmuon/libtorch/bad.h "$spdx" '#include "stages/matrix.h"'
expect_violation src/optim/bad.cpp:2 src/optim/bad.cpp "$spdx" '#include "trasmuon/libtorch/tensors.h"'
expect_violation lab/records/bad.cpp:2 lab/records/bad.cpp "$spdx" '#include "lab/studies/study.h"'
expect_violation lab/config/bad.h:2 lab/config/bad.h "$spdx" '#include <CLI/CLI.hpp>'
expect_violation src/base/bad.cpp:2 src/base/bad.cpp "$spdx" '#include "cpu/gemm.h"'
expect_violation src/stages/bad.cpp:2 src/stages/bad.cpp "$spdx" '#include "cpu/backend.h"'
expect_violation src/cpu/isa/bad.inl:2 src/cpu/isa/bad.inl "$spdx" '#include "optim/rule.h"'
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
