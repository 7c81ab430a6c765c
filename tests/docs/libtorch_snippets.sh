#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
#   libtorch_snippets.sh FILE    the ```c++ blocks of FILE as one program: the first is its head,
#                                every other one a function, and main() runs them all
set -euo pipefail
echo '// SPDX-License-Identifier: Apache-2.0'
awk '
  /^```/ { if (open) { open = 0; if (count > 1) print "}" }
           else if ($0 == "```c++") { open = 1; if (++count > 1) printf "static void snippet%d() {\n", count }
           next }
  open
  END { print "int main() {"
        for (i = 2; i <= count; ++i) printf "  snippet%d();\n", i
        print "  return " (count > 4 ? 0 : 1) ";\n}" }' "$1"
