// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

// The blocks into which segments of memory are divided.

namespace ballast::inline v0_2::detail {

inline constexpr std::uint32_t no_block = 0xffff'ffff;

enum class block_state : std::uint8_t { used, cached, unmapped };

struct memory_block {
  std::int64_t offset = 0;        // in its segment
  std::int64_t size = 0;          // bytes; 0 if the number of the block is not in use
  std::int64_t requested = 0;     // bytes of it that were asked for
  std::uint32_t segment = 0;      // segments are numbered as they are reserved
  std::uint32_t left = no_block;  // neighbours in the segment
  std::uint32_t right = no_block;
  block_state state = block_state::used;
  bool small_pool = false;
};

// Orders blocks by size, then by address.
struct block_key {
  std::int64_t size;
  std::uint32_t segment;
  std::int64_t offset;
  std::uint32_t block;
  friend constexpr auto operator<=>(block_key const&, block_key const&) = default;
};
using block_set = std::set<block_key>;

// Blocks by number. A number is used again after its block was joined with another or given back.
template <class = when_called>
class block_list {
 public:
  [[nodiscard]] memory_block& operator[](std::uint32_t b) { return blocks_[b]; }
  [[nodiscard]] memory_block const& operator[](std::uint32_t b) const { return blocks_[b]; }
  [[nodiscard]] bool in_use(std::uint32_t b) const {
    return b < blocks_.size() && blocks_[b].state == block_state::used && blocks_[b].size > 0;
  }
  [[nodiscard]] bool whole(std::uint32_t b) const { return blocks_[b].left == no_block && blocks_[b].right == no_block; }

  [[nodiscard]] std::uint32_t add(memory_block const& block) {
    if (spare_.empty()) {
      blocks_.push_back(block);
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    auto const b = spare_.back();
    spare_.pop_back();
    blocks_[b] = block;
    return b;
  }
  void remove(std::uint32_t b) {
    blocks_[b] = {};
    spare_.push_back(b);
  }

  // Cuts a block after `size` bytes; returns its right part, which has the state of the block.
  std::uint32_t cut(std::uint32_t b, std::int64_t size) {
    auto rest = blocks_[b];
    rest.offset += size;
    rest.size -= size;
    rest.left = b;
    auto const r = add(rest);
    if (rest.right != no_block) blocks_[rest.right].left = r;
    blocks_[b].size = size;
    blocks_[b].right = r;
    return r;
  }
  // Joins a block with its right neighbour.
  void join_right(std::uint32_t b) {
    auto const r = blocks_[b].right;
    blocks_[b].size += blocks_[r].size;
    blocks_[b].right = blocks_[r].right;
    if (blocks_[r].right != no_block) blocks_[blocks_[r].right].left = b;
    remove(r);
  }

 private:
  std::vector<memory_block> blocks_;
  std::vector<std::uint32_t> spare_;
};

}  // namespace ballast::inline v0_2::detail
