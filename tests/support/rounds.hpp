// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ballast_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

/// The step from round to round of a long random test: 1, or 11 under a sanitizer, where a round takes twenty times as long. 11 has no
/// factor in common with the few kinds of rounds that a test goes through in turn.
inline constexpr int round_step = sanitized ? 11 : 1;

}  // namespace ballast_test
