// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <string>

namespace ballast_test {

/// The sentence with which a call is refused, or "accepted".
template <class Call>
[[nodiscard]] std::string refusal(Call&& call) {
  try {
    static_cast<void>(call());
  } catch (ballast::invalid_input const& e) {
    return e.what();
  }
  return "accepted";
}

/// Whether a call is refused and leaves what it would write to as it was.
template <class Out, class Call>
[[nodiscard]] bool refused_untouched(Out const& out, Call&& call) {
  auto const before = out;
  return refusal([&] { return call(), 0; }) != "accepted" && out == before;
}

}  // namespace ballast_test
