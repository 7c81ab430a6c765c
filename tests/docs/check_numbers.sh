#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_numbers.sh PROGRAM PAGE    PAGE contains every line that PROGRAM prints, and PROGRAM prints every
#                                    number that PAGE marks with *. Blanks and line ends count as one blank.
set -euo pipefail
page=" $(tr -s ' \n' ' ' <"$2")"
output=$("$1")
[[ -n $output ]] || { echo "$1 prints nothing"; exit 1; }

unprinted=$page
failures=0
while read -r line; do
  line=$(tr -s ' ' <<<"$line")
  if [[ $page != *"$line"* ]]; then
    echo "$2 lacks: $line"
    failures=$((failures + 1))
  fi
  unprinted=${unprinted/"$line"/}
done <<<"$output"

while read -r rest; do
  echo "$2 marks a number that ${1##*/} does not print: $rest"
  failures=$((failures + 1))
done < <(grep -oE '.{0,40}[0-9%)]\*([^*]|$)' <<<"$unprinted" || true)
((failures == 0))
