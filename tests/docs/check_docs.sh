#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_docs.sh ROOT LIBRARY_DIR DESCRIBE    the documentation says what the code does
#
# README's C++ blocks are examples/quickstart.cpp and examples/libtorch_quickstart.cpp; every
# cpp and c snippet of docs/api.md compiles without warnings and runs; the option tables of
# docs/api.md are what describe() prints.
set -euo pipefail
root=$1 library=$2 describe=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# blocks FILE LANGUAGE...: writes each fenced block of these languages to its own file.
blocks() {
  awk -v folder="$work" -v languages=" ${*:2} " '
    /^```/ { if (open) { open = 0; close(file); next }
             language = substr($0, 4)
             if (index(languages, " " language " ")) { open = 1; file = sprintf("%s/block%02d.%s", folder, ++n, language) }
             next }
    open { print > file }' "$1"
}

blocks "$root/README.md" cpp
number=0
for example in quickstart libtorch_quickstart; do
  number=$((number + 1))
  grep -v '^// SPDX' "$root/examples/$example.cpp" | diff "$work/block0$number.cpp" - ||
    { echo "README.md: C++ block $number is not examples/$example.cpp"; exit 1; }
done
rm -f "$work"/block*

blocks "$root/docs/api.md" cpp c
flags=(-Wall -Wextra -Werror -Wno-unused-variable -I"$root/include")
link=(-L"$library" -ltrasmuon "-Wl,-rpath,$library")
cd "$work"
preamble=block01.cpp
count=0
for block in block*.cpp block*.c; do
  [[ $block == "$preamble" || ! -e $block ]] && continue
  if [[ $block == *.cpp ]]; then
    { cat "$preamble"; echo 'int main() {'; cat "$block"; echo '}'; } >program.cpp
    "${CXX:-c++}" -std=c++20 "${flags[@]}" program.cpp "${link[@]}" -o program
  else
    "${CC:-cc}" -std=c11 -pedantic "${flags[@]}" "$block" "${link[@]}" -o program
  fi || { echo "docs/api.md: snippet $block does not compile"; exit 1; }
  ./program >/dev/null || { echo "docs/api.md: snippet $block fails"; cat "$block"; exit 1; }
  count=$((count + 1))
done
((count >= 10)) || { echo "docs/api.md: only $count snippets found"; exit 1; }

while IFS= read -r line; do
  grep -qF -- "$line" "$root/docs/api.md" || { echo "docs/api.md: the option tables lack: $line"; exit 1; }
done < <("$describe")
echo "README's snippets, $count API snippets and the option tables agree with the code"
