#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_tree.sh ROOT    checks what compilers do not: include direction, SPDX lines, stray paths
#
# Prints one "file:line: rule" per violation and fails if there is any.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list_files=$here/../../tools/list-files
cd "$1"

# Folder -> what its files may include, besides the standard library. Dependencies point
# one way: adding a line here is a decision about the architecture.
declare -A may_include=(
  [include/trasmuon]='trasmuon/'
  [include/trasmuon/libtorch]='(trasmuon|torch|ATen|c10)/'
  [src/base]='(trasmuon|base)/'
  [src/stages]='(trasmuon|stages)/'
  [src/cpu]='(trasmuon|stages|cpu)/'
  [src/cpu/products]='((trasmuon|stages|cpu/products)/|cpu/(kernels|thread_pool)\.h)'
  [src/cpu/newton_schulz]='((trasmuon|stages|cpu/(newton_schulz|products))/|cpu/(kernels|scratch)\.h)'
  [src/cpu/isa]='((trasmuon|stages|cpu)/|(cpuid|immintrin)\.h)'
  [src/cuda]='((trasmuon|stages|cuda)/|cuda[A-Za-z_0-9]*\.h)'
  [src/cuda/runtime]='((trasmuon|cuda/runtime)/|cu(da|blas)[A-Za-z_0-9]*\.h)'
  [src/cuda/passes]='((trasmuon|stages|cuda/(passes|runtime))/|cuda[A-Za-z_0-9]*\.h)'
  [src/cuda/newton_schulz]='((trasmuon|stages|cuda/(newton_schulz|hopper|runtime))/|cuda/passes/input_scale\.h|cuda[A-Za-z_0-9]*\.h)'
  [src/cuda/hopper]='(cuda/hopper/|cuda[A-Za-z_0-9]*\.h)'
  [src/optim]='(trasmuon|stages|optim)/'
  [src/checkpoint]='(trasmuon|checkpoint)/'
  [src/c_api]='(trasmuon|c_api)/'
  [lab/records]='(trasmuon|fmt|nlohmann|lab/records)/'
  [lab/report]='(trasmuon|fmt|lab/(records|report))/'
  [lab/study]='(trasmuon|fmt|lab/(records|report|study))/'
  [lab/recipe]='(trasmuon|fmt|lab/(records|study|recipe))/'
  [lab/mechanistic]='(trasmuon|fmt|lab/(records|report|study|mechanistic))/'
  [lab/pinn]='(trasmuon|fmt|torch|ATen|lab/(records|report|study|pinn))/'
  [lab/data]='((trasmuon|fmt|nlohmann|lab/(records|study|data))/|(jerror|jpeglib|png|stdio|zlib)\.h)'
  [lab/models]='(trasmuon|torch|ATen|lab/models)/'
  [lab/training]='(trasmuon|fmt|torch|ATen|c10|lab/(records|study|models|training))/'
  [lab/language]='(trasmuon|fmt|torch|ATen|lab/(records|report|study|data|models|training|language))/'
  [lab/vision]='(trasmuon|fmt|torch|ATen|lab/(records|report|study|data|models|training|vision))/'
  [lab/runner]='(trasmuon|fmt|lab/(records|study|runner))/'
  [lab/cli]='(trasmuon|fmt|CLI|lab/[a-z]+)/'
)
readonly standard='^<([a-z_0-9]+|std(def|int|bool)\.h)>$'
readonly posix='^<((fcntl|glob|unistd|dlfcn|pthread|sched|signal|link|malloc|spawn)\.h|sys/[a-z]+\.h)>$'

violations=0
report() {
  echo "$1"
  violations=$((violations + 1))
}

check_include() {
  local file=$1 line=$2 included=$3 layer=$4 path
  path=${included:1:-1}
  [[ $included =~ $standard ]] && return
  [[ $layer == @(src|lab)/* && $included =~ $posix ]] && return
  # The adapter stands on the library, not the other way round.
  if [[ $path != trasmuon/libtorch* || $layer != @(include/trasmuon|src/*) ]]; then
    [[ $path =~ ^${may_include[$layer]} && $path != *../* ]] && return
  fi
  report "$file:$line: $layer must not include $included (only the standard library and ${may_include[$layer]})"
}

check_includes() {
  local file layer line included
  while read -r file; do
    layer=$(cut -d/ -f1-2 <<<"$file")
    [[ $file != include/trasmuon/libtorch* ]] || layer=include/trasmuon/libtorch
    [[ $file != src/@(cuda|cpu)/*/* ]] || layer=$(cut -d/ -f1-3 <<<"$file")
    if [[ -z ${may_include[$layer]:-} ]]; then
      report "$file:1: $layer is no known layer; say in ${BASH_SOURCE[0]##*/} what it may include"
      continue
    fi
    while IFS=: read -r line included; do
      check_include "$file" "$line" "$included" "$layer"
    done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include/{=;s/^[^<"]*([<"][^>"]*[>"]).*/\1/p}' "$file" | paste -d: - -)
  done < <("$list_files" . 'include/*.h' 'src/*.h' 'src/*.c' 'src/*.cpp' 'src/*.inl' 'src/*.cu' 'src/*.cuh' 'lab/*.h' 'lab/*.cpp')
}

# The Python package needs nothing but torch; typing_extensions is for type checkers only.
readonly python_may_import='(\.|torch|typing_extensions)'
readonly python_standard='(array|ctypes|datetime|fnmatch|itertools|operator|os|pathlib|platform|sys|threading|time|typing|warnings|weakref)'
check_python_imports() {
  local file line imported
  while IFS=: read -r file line imported; do
    report "$file:$line: python/libtrasmuon must not import $imported (only the standard library and torch)"
  done < <("$list_files" . 'python/*.py' | xargs -r -d '\n' grep -nHoE '^[[:space:]]*(import|from) [A-Za-z_.0-9]+' |
    sed -E 's/(:[0-9]+:)[[:space:]]*(import|from) /\1/' | grep -vE ":[0-9]+:($python_may_import|$python_standard(\.[a-z_.]+)?\$)" || true)
}

check_licences() {
  local file
  while read -r file; do
    head -n 2 "$file" | grep -qE '^(//|#|/\*) SPDX-License-Identifier: Apache-2\.0' ||
      report "$file:1: has no SPDX-License-Identifier: Apache-2.0 line at the top"
  done < <("$list_files" . '*.h' '*.c' '*.cpp' '*.inl' '*.cu' '*.cuh' '*.py' '*.sh' 'tools/*' '.ci/*' Makefile)
}

check_paths() {
  local file line path
  while IFS=: read -r file line path; do
    report "$file:$line: names a path of somebody's machine: ${path#[^/]}"
  done < <("$list_files" . | xargs -r -d '\n' grep -nHIoE \
    '(^|[^[:alnum:]_.~$}/-])/(home|root|Users|work|workspace|mnt|scratch)/[[:alnum:]_.-]+' || true)
}

check_includes
check_python_imports
check_licences
check_paths
if ((violations)); then
  echo "architecture: $violations violation(s)"
  exit 1
fi
