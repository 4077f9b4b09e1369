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

/// Sequences of words, each stored once and numbered as they come. All words are compared.
template <class = when_called>
class word_sets {
 public:
  /// `width`: the words of each sequence; 0: any number.
  explicit word_sets(std::size_t width = 0) : width_(width) {}

  [[nodiscard]] std::size_t size() const noexcept { return hash_.size(); }
  [[nodiscard]] std::size_t words() const noexcept { return words_.size(); }  // of all sequences
  [[nodiscard]] std::span<std::uint64_t const> operator[](std::size_t id) const {
    return {words_.data() + begin_of(id), begin_of(id + 1) - begin_of(id)};
  }
  /// The number of a sequence; `size()` if it is not there.
  [[nodiscard]] std::uint32_t find(std::span<std::uint64_t const> key) const {
    auto const id = slots_[slot_of(key, hash_of(key))];
    return id == free ? static_cast<std::uint32_t>(size()) : id;
  }
  /// The number of a sequence, and whether it is new.
  std::pair<std::uint32_t, bool> insert(std::span<std::uint64_t const> key) {
    auto const hash = hash_of(key);
    auto& slot = slots_[slot_of(key, hash)];
    if (slot != free) return {slot, false};
    auto const id = slot = static_cast<std::uint32_t>(size());
    hash_.push_back(hash);
    words_.insert(words_.end(), key.begin(), key.end());
    if (width_ == 0) begin_.push_back(words_.size());
    if (2 * size() > slots_.size()) grow();
    return {id, true};
  }

 private:
  static constexpr auto free = ~std::uint32_t{0};
  [[nodiscard]] std::size_t begin_of(std::size_t id) const { return width_ != 0 ? id * width_ : begin_[id]; }
  [[nodiscard]] static std::uint64_t hash_of(std::span<std::uint64_t const> key) {
    std::uint64_t h = 0;
    for (auto const word : key) {
      h = (h ^ word) * 0x9e3779b97f4a7c15U;
      h ^= h >> 29;
    }
    return h ^ (h >> 32);
  }
  /// Where a sequence is, or belongs.
  [[nodiscard]] std::size_t slot_of(std::span<std::uint64_t const> key, std::uint64_t hash) const {
    auto at = static_cast<std::size_t>(hash) & (slots_.size() - 1);
    while (slots_[at] != free && !(hash_[slots_[at]] == hash && std::ranges::equal(key, (*this)[slots_[at]])))
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

  std::size_t width_;
  std::vector<std::uint64_t> words_, hash_;
  std::vector<std::size_t> begin_{0};
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(64, free);
};

}  // namespace ballast::inline v0_2::detail
