#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_labels.sh ROOT    every equation of the algorithm can be found by its label in the paper
#
# A label stands where the equation is computed on the CPU, where it is computed on CUDA, and in docs/algorithm.md.
# In code it stands on the line that computes, or directly above it: never on a line of its own at the end of a block.
set -euo pipefail
cd "$1"

readonly labels=(
  eq:momentum_main eq:col_energy eq:prenorm_main eq:ns_main eq:rowscale_main eq:rowscale_main1 eq:tr_cal_main
  eq:ecur_quantile eq:eref_main eq:ratio eq:clip_main eq:hard_col_clip eq:trigger_gate eq:ema_main eq:sf_main
  eq:trasmuon_update_main
)

violations=0
report() {
  echo "$1"
  violations=$((violations + 1))
}

# Labels of a stage and of the step as a whole: the file of the stage, and step.cpp, which shows Algorithm 1. The files
# of steps over ranks have labels too, which must not hide that a stage has lost its own.
for label in "${labels[@]}"; do
  for backend in src/cpu src/cuda; do
    grep -rqwF "$label" "$backend" --exclude='step.*' --exclude='cut_*' || report "$backend: no stage has the label $label"
    [[ $label == eq:hard_col_clip ]] || grep -qwF "$label" "$backend/step.cpp" || report "$backend/step.cpp: lacks $label"
  done
  grep -qwF "$label" docs/algorithm.md || report "docs/algorithm.md: lacks $label"
done

# No label that the list does not know: a misspelt one would be found nowhere.
known=$(printf '%s\n' "${labels[@]}")
while IFS=: read -r file line label; do
  grep -qxF "$label" <<<"$known" || report "$file:$line: unknown label $label"
done < <(grep -rnoE '\beq:[a-z_0-9]+' src | sed -E 's/:(eq:)/:\1/')

# A comment with a label is followed by code.
while IFS= read -r place; do
  report "$place: a label with no code below it"
done < <(grep -rlE '//.*\beq:' src | xargs -r awk '
  /^[[:space:]]*\/\/.*eq:/ { pending = FILENAME ":" FNR; next }
  pending && /^[[:space:]]*(\/\/|$)/ { if ($0 ~ /^[[:space:]]*$/) { print pending; pending = "" } next }
  pending && /^[[:space:]]*}/ { print pending }
  { pending = "" }')

if ((violations)); then
  echo "labels: $violations violation(s)"
  exit 1
fi
