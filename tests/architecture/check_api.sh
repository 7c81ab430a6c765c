#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_api.sh ROOT    a public header that declares functions has a source of the same stem, or a folder
set -euo pipefail
cd "$1"

violations=0
for header in include/trasmuon/*.h; do
  # Exported functions and classes; not the macro itself, nor an exception that only inherits its constructors.
  grep -E 'TRASMUON_API' "$header" | grep -qvE '^#|^class .* : public ' || continue
  stem=$(basename "$header" .h)
  if ! compgen -G "src/*/$stem.cpp" >/dev/null && [[ ! -d src/$stem ]]; then
    echo "$header: there is no src/*/$stem.cpp"
    violations=$((violations + 1))
  fi
done
exit $((violations != 0))
