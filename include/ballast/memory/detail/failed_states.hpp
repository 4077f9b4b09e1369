// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// A set of keys, which are sequences of words and are compared in full. When it is full, it takes no more.
template <class = when_called>
class failed_states {
 public:
  [[nodiscard]] bool contains(std::span<std::uint64_t const> key) const {
    if (entries_.empty()) return false;
    auto const hash = hash_of(key);
    for (auto at = hash & mask(); entries_[at].length != 0; at = (at + 1) & mask()) {
      auto const& e = entries_[at];
      if (e.hash == hash && e.length == key.size() &&
          std::equal(key.begin(), key.end(), words_.begin() + static_cast<std::ptrdiff_t>(e.begin)))
        return true;
    }
    return false;
  }
  /// Adds a key that is not contained.
  void insert(std::span<std::uint64_t const> key) {
    if (words_.size() + key.size() > most_words) return;
    if (2 * (size_ + 1) > entries_.size()) grow();
    put({hash_of(key), words_.size(), key.size()});
    words_.insert(words_.end(), key.begin(), key.end());
    ++size_;
  }
  void clear() {
    words_.clear();
    std::fill(entries_.begin(), entries_.end(), entry{});
    size_ = 0;
  }

 private:
  static constexpr std::size_t most_words = std::size_t{1} << 23;  // 64 MiB
  struct entry {
    std::uint64_t hash = 0;
    std::size_t begin = 0, length = 0;
  };

  [[nodiscard]] std::size_t mask() const { return entries_.size() - 1; }
  [[nodiscard]] static std::size_t hash_of(std::span<std::uint64_t const> key) {
    std::uint64_t h = 0x9e3779b97f4a7c15U;
    for (auto const word : key) {
      h = (h ^ word) * 0xbf58476d1ce4e5b9U;
      h ^= h >> 29;
    }
    return static_cast<std::size_t>(h ^ h >> 32);
  }
  void put(entry const& e) {
    auto at = e.hash & mask();
    while (entries_[at].length != 0) at = (at + 1) & mask();
    entries_[at] = e;
  }
  void grow() {
    std::vector<entry> old(entries_.empty() ? 1024 : 2 * entries_.size());
    old.swap(entries_);
    for (auto const& e : old)
      if (e.length != 0) put(e);
  }

  std::vector<std::uint64_t> words_;
  std::vector<entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace ballast::inline v0_2::detail
