// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <stdexcept>
#include <utility>

/// @file
/// @brief Misuse throws `invalid_input` before any work; a problem without a solution is an answer (see status.hpp).

namespace ballast::inline v0_2 {

/// @brief Thrown for an argument that breaks a precondition. The message names the argument, the index and the value.
class invalid_input : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// @brief Throws `invalid_input` unless `ok`; the sentence is built only then.
///
/// @tparam Message  a callable without parameters that returns something a `std::string` is made of
/// @param ok       the precondition
/// @param message  builds the sentence
/// @throws invalid_input when `ok` is false
template <class Message>
constexpr void require(bool ok, Message&& message) {
  if (!ok) [[unlikely]]
    throw invalid_input(std::forward<Message>(message)());
}

}  // namespace ballast::inline v0_2
