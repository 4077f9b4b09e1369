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

}  // namespace ballast_test
