// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "program.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <string>

namespace ballast_test {

/// The program ended with `code` and one line on standard error that begins with `sentence`; it printed nothing else.
inline void check_refused(scratch::outcome const& o, std::string const& sentence, int code = 2) {
  CAPTURE(o.out, o.err, sentence);
  CHECK(o.code == code);
  CHECK(o.out.empty());
  CHECK(o.err.substr(0, sentence.size()) == sentence);
  CHECK(o.err.ends_with('\n'));
  CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
}

}  // namespace ballast_test
