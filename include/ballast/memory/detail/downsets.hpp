// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

using downset = std::vector<std::uint64_t>;  // a set of operators, in bits

// Sets of one size, numbered as they come. All bits are compared.
template <class = when_called>
class downset_table {
 public:
  explicit downset_table(std::size_t words) : words_(words), slots_(64, free) {}

  [[nodiscard]] std::span<std::uint64_t const> operator[](std::size_t id) const { return {bits_.data() + id * words_, words_}; }
  // The number of a set; `size()` if it is not there.
  [[nodiscard]] std::uint32_t find(downset const& set) const {
    auto const id = slots_[slot_of(set, hash_of(set))];
    return id == free ? static_cast<std::uint32_t>(size()) : id;
  }
  // The number of a set, and whether it is new.
  std::pair<std::uint32_t, bool> insert(downset const& set) {
    auto const hash = hash_of(set);
    auto& slot = slots_[slot_of(set, hash)];
    if (slot != free) return {slot, false};
    auto const id = slot = static_cast<std::uint32_t>(size());
    hash_.push_back(hash);
    bits_.insert(bits_.end(), set.begin(), set.end());
    if (2 * size() > slots_.size()) grow();
    return {id, true};
  }
  [[nodiscard]] std::size_t size() const noexcept { return hash_.size(); }

 private:
  static constexpr auto free = ~std::uint32_t{0};
  [[nodiscard]] static std::uint64_t hash_of(downset const& set) {
    std::uint64_t h = 0;
    for (auto const word : set) {
      h = (h ^ word) * 0x9e3779b97f4a7c15U;
      h ^= h >> 29;
    }
    return h ^ (h >> 32);
  }
  // Where a set is, or belongs.
  [[nodiscard]] std::size_t slot_of(downset const& set, std::uint64_t hash) const {
    auto at = static_cast<std::size_t>(hash) & (slots_.size() - 1);
    while (slots_[at] != free && !(hash_[slots_[at]] == hash && std::equal(set.begin(), set.end(), (*this)[slots_[at]].begin())))
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), free);
    for (std::uint32_t id = 0; id < hash_.size(); ++id) {
      auto at = static_cast<std::size_t>(hash_[id]) & (slots_.size() - 1);
      while (slots_[at] != free) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = id;
    }
  }
  std::size_t words_;
  std::vector<std::uint64_t> bits_, hash_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace ballast::inline v0_2::detail
