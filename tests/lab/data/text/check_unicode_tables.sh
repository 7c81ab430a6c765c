#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   check_unicode_tables.sh ROOT    fails unless unicode_tables.cpp is what its script writes
#
# Exits with 77 (skipped) where Python knows another version of Unicode than the file.
set -euo pipefail
cd "$1/lab/data/text"
version=$(sed -n 's/.*from Unicode \(.*\)\.$/\1/p' unicode_tables.cpp)
python=$(python3 -c 'import unicodedata; print(unicodedata.unidata_version)' 2>/dev/null) || exit 77
[[ $version == "$python" ]] || exit 77
python3 unicode_tables.py | cmp - unicode_tables.cpp
