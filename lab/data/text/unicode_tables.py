#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
#   unicode_tables.py > unicode_tables.cpp
#
# Writes what the tokenizers need of Unicode, from Python's unicodedata.
import sys
import unicodedata as u

SURROGATES = range(0xD800, 0xE000)
HANGUL = range(0xAC00, 0xD7A4)  # decomposed and composed by arithmetic
CODES = [c for c in range(sys.maxunicode + 1) if c not in SURROGATES]


def kind(code):
    """The letter of CharacterKind: \\p{L}, \\p{N}, \\s or none of them."""
    char = chr(code)
    if char in "\t\n\v\f\r\x85" or u.category(char)[0] == "Z":  # Unicode's property White_Space
        return "space"
    return {"L": "letter", "N": "number"}.get(u.category(char)[0], "other")


def ranges(value):
    """(first code, value) of every stretch of codes with equal values; surrogates count as what is before them."""
    last = None
    for code in CODES:
        if value(code) != last:
            last = value(code)
            yield code, last


def decompositions():
    """(code, first, second or 0, whether NFC composes it) of every canonical decomposition."""
    for code in CODES:
        text = u.decomposition(chr(code))
        if text and text[0] != "<" and code not in HANGUL:
            parts = [int(part, 16) for part in text.split()]
            composes = len(parts) == 2 and u.normalize("NFC", "".join(map(chr, parts))) == chr(code)
            yield code, parts[0], parts[1] if len(parts) == 2 else 0, composes


def rows(cells):
    line = " "
    for cell in cells:
        if len(line) + len(cell) + 2 > 120:
            print(line)
            line = " "
        line += " " + cell + ","
    print(line)


def table(declaration, cells):
    cells = list(cells)
    print(f"\nconst {declaration}[] = {{")
    rows(cells)
    print("};")
    return len(cells)


print(
    f"""// SPDX-License-Identifier: Apache-2.0
// Written by unicode_tables.py from Unicode {u.unidata_version}.
#include "lab/data/text/unicode_tables.h"

// clang-format off
namespace trasmuon::lab::unicode {{"""
)
kinds = {"other": 0, "letter": 1, "number": 2, "space": 3}
counts = {
    "kKinds": table("Stretch kKinds", (f"{{{c:#x},{kinds[k]}}}" for c, k in ranges(kind))),
    "kOrders": table("Stretch kOrders", (f"{{{c:#x},{k}}}" for c, k in ranges(lambda code: u.combining(chr(code))))),
    "kDecompositions": table(
        "Decomposition kDecompositions",
        (f"{{{c:#x},{a:#x},{b:#x},{int(composes)}}}" for c, a, b, composes in decompositions()),
    ),
}
print()
for name, count in counts.items():
    print(f"const std::size_t {name}Count = {count};")
print("\n}  // namespace trasmuon::lab::unicode")
