// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <cstdint>

/// @file
/// @brief A 64-bit fingerprint of a plan. Equal plans have equal fingerprints on every platform.

namespace ballast::inline v0_2 {

/// @brief Incremental 64-bit FNV-1a over values written as eight little-endian bytes.
///
/// Source: Fowler, Noll, Vo, "FNV hash" (draft-eastlake-fnv).
class fnv1a {
 public:
  /// @brief Appends the eight bytes of one value, lowest first. @param value any integer, zero-extended to 64 bits
  constexpr void append(std::uint64_t value) noexcept {
    int left = 8;
    for (; value != 0; value >>= 8, --left) hash_ = (hash_ ^ (value & 0xffU)) * prime;
    hash_ *= power[left];  // appending a zero byte only multiplies, so the high zero bytes of a small value are one product
  }
  /// @brief The hash of all values appended so far.
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return hash_; }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3U;
  struct powers {
    std::uint64_t of[9];
    constexpr std::uint64_t operator[](int i) const noexcept { return of[i]; }
  };
  static constexpr powers power = [] {
    powers p{};
    p.of[0] = 1;
    for (int i = 1; i < 9; ++i) p.of[i] = p.of[i - 1] * prime;
    return p;
  }();
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

/// @brief Hash of a plan: FNV-1a over its offsets, then its members, each as a little-endian 64-bit integer.
///
/// The hash does not depend on the index type: members in 32 and in 64 bits give the same hash.
///
/// @tparam Index  index type of the plan
/// @param plan  the groups to hash
/// @return the hash, 64 bits
/// @par Complexity
/// O(groups + members).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(groups<Index> const& plan) noexcept {
  fnv1a h;
  for (auto offset : plan.offsets) h.append(offset);
  for (auto member : plan.members) h.append(member);
  return h.value();
}

}  // namespace ballast::inline v0_2
