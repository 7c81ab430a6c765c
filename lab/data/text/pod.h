// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trasmuon::lab {

/// The prose of a file in POD, Perl's documentation format: headings, list items and paragraphs, one per line, without
/// formatting codes (B<bold> becomes bold, L<text|place> text). Code, comments and other formats inside are left out.
std::string prose_of_pod(std::string_view pod);

}  // namespace trasmuon::lab
