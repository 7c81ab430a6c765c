#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   gpu_test.sh SOURCE    checks what tools/gpu says and how it ends, with programs that only pretend
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{bin,tools,build/gpu/tests/cuda,build/gpu/benchmarks}
cp "$source/tools/gpu" "$work/tools"

# program PATH BODY
program() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
program tools/setup 'exit 0'
program tools/find-libtorch 'exit 1'
program bin/cmake "exit \${FAKE_CMAKE:-0}"
program bin/nvidia-smi 'echo "GPU 0: a card"'
program bin/python-without-torch 'exit 1'
# shellcheck disable=SC2016
program bin/compute-sanitizer '
case "$*" in
  *racecheck*products*) echo "========= RACECHECK SUMMARY: ${FAKE_HAZARDS:-0} hazards displayed"; exit "${FAKE_HAZARDS:-0}" ;;
  *racecheck*) echo "========= RACECHECK SUMMARY: 0 hazards displayed" ;;
  *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac'
program build/gpu/tests/cuda/cuda_products_test "echo '[  PASSED  ] 2 tests.'; sleep \${FAKE_SLEEP:-0}"
program build/gpu/tests/cuda/cuda_test "echo '[  PASSED  ] 3 tests.'; exit \${FAKE_TESTS:-0}"
program build/gpu/benchmarks/bench_step_cuda 'echo "  ours, trasmuon 1 ms"'

# expect STATUS PATTERN [NAME=VALUE...] [PART...]: how tools/gpu ends, and a line that it prints.
expect() {
  local status=0 output
  local -a settings=() parts=()
  for word in "${@:3}"; do
    if [[ $word == *=* ]]; then settings+=("$word"); else parts+=("$word"); fi
  done
  output=$(env -u GPU_LIMIT -u GPU_SECONDS -u GPU_LOGS PATH="$work/bin:$PATH" TRASMUON_PYTHON=python-without-torch \
    "${settings[@]}" "$work/tools/gpu" "${parts[@]}" 2>&1) || status=$?
  if [[ $status == "$1" ]] && grep -qE "$2" <<<"$output"; then return; fi
  printf 'gpu_test: expected status %s and "%s", got %s:\n%s\n' "$1" "$2" "$status" "$output" >&2
  exit 1
}

expect 0 '^memcheck   PASS +[0-9]+ +0 errors, 0 errors$'
expect 0 '^racecheck  PASS +[0-9]+ +0 hazards displayed, 0 hazards displayed$'
expect 1 '^racecheck  FAIL +[0-9]+ +3 hazards displayed, 0 hazards displayed$' FAKE_HAZARDS=3
expect 0 '^libtorch   LEFT OUT'
expect 1 '^libtorch   FAIL .*no torch with CUDA' libtorch
expect 0 '^lab        LEFT OUT'
expect 0 'ours, trasmuon 1 ms' bench
expect 0 '^products   PASS +[0-9]+ +2 passed$' products
expect 1 '^tests      FAIL' FAKE_TESTS=1
expect 1 '^products   TIMEOUT' FAKE_SLEEP=9 GPU_LIMIT=1 products
expect 1 "make gpu PARTS='(products )?tests'" GPU_SECONDS=25 FAKE_SLEEP=6 products tests
expect 1 "make gpu PARTS='products'" FAKE_CMAKE=1 products
expect 1 "unknown part 'all'" all
program bin/nvidia-smi 'exit 9'
compgen -G '/dev/nvidia[0-9]*' >/dev/null || expect 1 '^gpu: this machine has no NVIDIA GPU'
