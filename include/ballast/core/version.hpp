// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

/// @file
/// @brief The version of the library. CMake reads it from here. Every header opens an inline namespace that is named after the version, so
/// two versions linked into one program never share a symbol.

#define BALLAST_VERSION_MAJOR 0  ///< `version.major`, for the preprocessor
#define BALLAST_VERSION_MINOR 2  ///< `version.minor`
#define BALLAST_VERSION_PATCH 0  ///< `version.patch`

namespace ballast::inline v0_2 {

/// @brief A semantic version.
struct version_number {
  int major = 0;  ///< changes that break users (while `major` is 0, `minor` counts them)
  int minor = 0;  ///< additions
  int patch = 0;  ///< repairs
  friend constexpr bool operator==(version_number const&, version_number const&) = default;
};

/// @brief The version these headers belong to.
inline constexpr version_number version{BALLAST_VERSION_MAJOR, BALLAST_VERSION_MINOR, BALLAST_VERSION_PATCH};

}  // namespace ballast::inline v0_2
