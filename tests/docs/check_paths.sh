#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_paths.sh ROOT    every file and folder of the project that the documentation names exists
#
# Names are paths from ROOT (src/..., tests/...; * is a wildcard, a word in capitals a placeholder), and source files in
# `backticks`, which may leave out the folders in front (`option_fields.h`).
set -euo pipefail
list_files=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tools" && pwd)/list-files
cd "$1"

files=$("$list_files" .)
pages=$(grep -E '\.md$' <<<"$files")
folders=$(grep -oE '^[a-z]+/' <<<"$files" | sort -u | paste -sd'|' | tr -d /)
readonly placeholder='(^|/)[A-Z]+(/|$)' source_name='[a-z_0-9/]+\.(h|c|cpp|cu|cuh|inl|cmake|sh|py)'

count=0 violations=0
missing() {
  echo "$1:$2: no such file or folder: $3"
  violations=$((violations + 1))
}

while IFS=: read -r page line path; do
  path=$(sed -E 's/^[^a-z]//; s/[.*]+$//' <<<"$path")
  count=$((count + 1))
  [[ $path =~ $placeholder ]] || compgen -G "$path" >/dev/null || missing "$page" "$line" "$path"
done < <(xargs -d '\n' grep -noHE "(^|[^[:alnum:]_./-])($folders)/[[:alnum:]_./*-]*" <<<"$pages")

while IFS=: read -r page line name; do
  name=${name//\`/}
  [[ ! $name =~ ^($folders)/ ]] || continue  # done above
  count=$((count + 1))
  grep -qE "(^|/)${name//./\\.}\$" <<<"$files" || missing "$page" "$line" "$name"
done < <(xargs -d '\n' grep -noHE "\`$source_name\`" <<<"$pages")

((count >= 100)) || { echo "only $count names found"; exit 1; }
((violations == 0)) && echo "all $count files and folders that the documentation names exist"
