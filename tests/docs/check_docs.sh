#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_docs.sh ROOT LIBRARY_DIR DESCRIBE    the documentation says what the code does
#
# Links between pages lead to files; every cpp and c snippet of docs/api.md compiles without
# warnings and runs; those of docs/cuda.md compile; the option tables of docs/api.md are what
# describe() prints.
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

for page in "$root"/*.md "$root"/docs/*.md "$root"/docs/*/*.md; do
  while read -r target; do
    [[ -e $(dirname "$page")/$target ]] || { echo "${page#"$root"/}: no such file: $target"; exit 1; }
  done < <(grep -oE '\]\([^)#:]+[)#]' "$page" | sed -E 's/^..(.*).$/\1/' | sort -u)
done

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

mv "$preamble" preamble.cpp
rm block*
blocks "$root/docs/cuda.md" cpp
for block in block*.cpp; do
  { cat preamble.cpp; echo 'void snippet(float* w, float* g, void* stream) {'; cat "$block"; echo '}'; } >program.cpp
  "${CXX:-c++}" -std=c++20 "${flags[@]}" -fsyntax-only program.cpp ||
    { echo "docs/cuda.md: snippet $block does not compile"; exit 1; }
done

while IFS= read -r line; do
  grep -qF -- "$line" "$root/docs/api.md" || { echo "docs/api.md: the option tables lack: $line"; exit 1; }
done < <("$describe")
echo "the links, $count API snippets and the option tables agree with the code"
