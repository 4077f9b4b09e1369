// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/allocator_types.hpp>
#include <ballast/memory/detail/block_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

// Blocks in use and free blocks in two pools, of small blocks and of large ones, and what is reserved for them.

namespace ballast::inline v0_2::detail {

inline constexpr std::int64_t least_block = 512, mebibyte = std::int64_t{1} << 20, most_small = mebibyte, small_segment = 2 * mebibyte,
                              large_segment = 20 * mebibyte, own_segment = 10 * mebibyte, segment_step = 2 * mebibyte;

[[nodiscard]] constexpr std::int64_t round_up_to(std::int64_t value, std::int64_t step) noexcept {
  return (value + step - 1) / step * step;
}

template <class = when_called>
class cached_memory {
 public:
  explicit cached_memory(caching_allocator_options const& options) : options_(options) {}

  [[nodiscard]] block_list<> const& blocks() const noexcept { return blocks_; }
  [[nodiscard]] allocator_figures const& figures() const noexcept { return figures_; }
  [[nodiscard]] std::vector<reservation> const& log() const noexcept { return log_; }

  // Takes a block of at least `size` bytes, a multiple of 512; `no_block` if the capacity is too small.
  [[nodiscard]] std::uint32_t take(std::int64_t size, std::int64_t requested) {
    auto const small_pool = size <= most_small;
    auto b = take_cached(small_pool, size);
    if (b == no_block) b = reserve(small_pool, size);
    if (b == no_block && give_back_oversize(small_pool, size)) b = reserve(small_pool, size);
    if (b == no_block) {
      ++figures_.retries;
      give_back_cached();
      b = reserve(small_pool, size);
    }
    if (b == no_block) return b;
    auto const rest = blocks_[b].size - size;
    if (small_pool || options_.expandable_segments ? rest >= least_block : size < options_.max_split_size && rest > most_small)
      insert_cached(blocks_.cut(b, size));
    auto& block = blocks_[b];
    block.state = block_state::used;
    block.requested = requested;
    auto& f = figures_;
    f.peak_allocated = (std::max)(f.peak_allocated, f.allocated += block.size);
    f.peak_requested = (std::max)(f.peak_requested, f.requested += requested);
    return b;
  }

  // Makes a block in use free, and joins it with its free neighbours.
  void put_back(std::uint32_t b) {
    figures_.allocated -= blocks_[b].size;
    figures_.requested -= blocks_[b].requested;
    if (is(blocks_[b].left, block_state::cached)) {
      b = blocks_[b].left;
      erase_cached(b);
      blocks_.join_right(b);
    }
    join_cached_right(b);
    insert_cached(b);
  }

  // Gives back all segments, or pages, that are entirely free.
  void give_back_cached() {
    std::vector<std::uint32_t> free;
    for (auto const& pool : cached_)
      for (auto const& key : pool)
        if (options_.expandable_segments || blocks_.whole(key.block)) free.push_back(key.block);
    for (auto const b : free) options_.expandable_segments ? unmap(b) : give_back(b);
  }

 private:
  [[nodiscard]] bool is(std::uint32_t b, block_state state) const { return b != no_block && blocks_[b].state == state; }
  [[nodiscard]] static std::int64_t page_of(bool small_pool) noexcept { return small_pool ? small_segment : large_segment; }
  [[nodiscard]] block_key key_of(std::uint32_t b) const { return {blocks_[b].size, blocks_[b].segment, blocks_[b].offset, b}; }
  [[nodiscard]] block_key address_of(std::uint32_t b) const { return {0, blocks_[b].segment, blocks_[b].offset, b}; }

  void insert_cached(std::uint32_t b) {
    blocks_[b].state = block_state::cached;
    cached_[blocks_[b].small_pool].insert(key_of(b));
    if (!options_.expandable_segments && !blocks_.whole(b)) figures_.inactive_split += blocks_[b].size;
  }
  void erase_cached(std::uint32_t b) {
    cached_[blocks_[b].small_pool].erase(key_of(b));
    if (!options_.expandable_segments && !blocks_.whole(b)) figures_.inactive_split -= blocks_[b].size;
  }
  void join_cached_right(std::uint32_t b) {
    auto const right = blocks_[b].right;
    if (!is(right, block_state::cached)) return;
    erase_cached(right);
    blocks_.join_right(b);
  }

  // The smallest free block that is large enough, unless it is too large to be taken undivided.
  [[nodiscard]] std::uint32_t take_cached(bool small_pool, std::int64_t size) {
    auto const& pool = cached_[small_pool];
    auto found = pool.lower_bound({size, 0, 0, 0});
    if (found == pool.end()) return no_block;
    if (options_.expandable_segments)  // of a block at the border of mapped memory, what it can grow to counts
      for (auto next = std::next(found); next != pool.end() && grown(next->block) < grown(found->block); ++next) found = next;
    auto const limit = options_.max_split_size;
    if (size < limit ? found->size >= limit : found->size - size >= options_.max_non_split_rounding) return no_block;
    auto const b = found->block;
    erase_cached(b);
    return b;
  }
  [[nodiscard]] std::int64_t grown(std::uint32_t b) const {
    auto const right = blocks_[b].right;
    return blocks_[b].size + (is(right, block_state::unmapped) ? blocks_[right].size : 0);
  }

  void count_reserved(std::uint32_t segment, std::int64_t offset, std::int64_t bytes) {
    auto& f = figures_;
    f.peak_reserved = (std::max)(f.peak_reserved, f.reserved += bytes);
    auto& held = held_[segment];
    f.segments += held == 0 ? 1 : 0;
    held += bytes;
    f.segments -= held == 0 ? 1 : 0;
    log_.push_back({segment, offset, bytes});
  }

  [[nodiscard]] std::uint32_t reserve(bool small_pool, std::int64_t size) {
    if (options_.expandable_segments) return grow(small_pool, size);
    auto const bytes = small_pool ? small_segment : size < own_segment ? large_segment : round_up_to(size, segment_step);
    if (bytes > options_.capacity - figures_.reserved) return no_block;
    auto const b = add_segment(small_pool, bytes);
    count_reserved(blocks_[b].segment, 0, bytes);
    return b;
  }
  [[nodiscard]] std::uint32_t add_segment(bool small_pool, std::int64_t bytes) {
    held_.push_back(0);
    return blocks_.add({.size = bytes, .segment = static_cast<std::uint32_t>(held_.size() - 1), .small_pool = small_pool});
  }
  void give_back(std::uint32_t b) {
    erase_cached(b);
    count_reserved(blocks_[b].segment, 0, -blocks_[b].size);
    blocks_.remove(b);
  }
  // Gives back free blocks of at least `max_split_size` bytes: the smallest that is large enough, or the largest ones until together they
  // are. Returns whether they are.
  [[nodiscard]] bool give_back_oversize(bool small_pool, std::int64_t size) {
    auto const limit = options_.max_split_size;
    if (limit == unlimited_bytes) return false;
    auto const wanted = (std::max)(size, limit);
    auto& pool = cached_[small_pool];
    if (auto const one = pool.lower_bound({wanted, 0, 0, 0}); one != pool.end()) return give_back(one->block), true;
    std::int64_t given = 0;
    while (given < wanted && !pool.empty() && pool.rbegin()->size >= limit) {
      given += pool.rbegin()->size;
      give_back(pool.rbegin()->block);
    }
    return given >= wanted;
  }

  // Expandable segments: maps what is missing at the lowest addresses where free and unmapped blocks follow one another for long enough.
  [[nodiscard]] std::uint32_t grow(bool small_pool, std::int64_t size) {
    auto const b = range_of(small_pool, size);
    if (b == no_block) return b;
    if (blocks_[b].state == block_state::cached)
      erase_cached(b);
    else if (!map(b, (std::min)(blocks_[b].size, size)))
      return no_block;
    for (join_cached_right(b); blocks_[b].size < size; join_cached_right(b)) {
      auto const right = blocks_[b].right;
      if (!map(right, (std::min)(blocks_[right].size, size - blocks_[b].size))) {
        insert_cached(b);
        return no_block;
      }
      blocks_.join_right(b);
    }
    return b;
  }
  [[nodiscard]] std::uint32_t range_of(bool small_pool, std::int64_t size) {
    for (auto const& key : unmapped_[small_pool]) {
      auto const left = blocks_[key.block].left;
      auto const first = is(left, block_state::cached) ? left : key.block;
      std::int64_t bytes = 0;
      for (auto b = first; b != no_block && blocks_[b].state != block_state::used && bytes < size; b = blocks_[b].right)
        bytes += blocks_[b].size;
      if (bytes >= size) return first;
    }
    auto const addresses = round_up_to(options_.capacity + options_.capacity / 8, page_of(small_pool));
    if (size > addresses) return no_block;
    auto const b = add_segment(small_pool, addresses);
    blocks_[b].state = block_state::unmapped;
    unmapped_[small_pool].insert(address_of(b));
    return b;
  }
  // Maps the first `bytes` of an unmapped block, rounded up to pages; the block keeps what is mapped.
  [[nodiscard]] bool map(std::uint32_t b, std::int64_t bytes) {
    auto const small_pool = blocks_[b].small_pool;
    bytes = round_up_to(bytes, page_of(small_pool));
    if (bytes > options_.capacity - figures_.reserved) return false;
    unmapped_[small_pool].erase(address_of(b));
    if (bytes < blocks_[b].size) unmapped_[small_pool].insert(address_of(blocks_.cut(b, bytes)));
    blocks_[b].state = block_state::used;
    count_reserved(blocks_[b].segment, blocks_[b].offset, bytes);
    return true;
  }
  // Gives back the whole pages of a free block.
  void unmap(std::uint32_t b) {
    auto const page = page_of(blocks_[b].small_pool);
    auto const begin = round_up_to(blocks_[b].offset, page), end = (blocks_[b].offset + blocks_[b].size) / page * page;
    if (begin >= end) return;
    erase_cached(b);
    if (begin > blocks_[b].offset) {
      auto const rest = blocks_.cut(b, begin - blocks_[b].offset);
      insert_cached(b);
      b = rest;
    }
    if (end - begin < blocks_[b].size) insert_cached(blocks_.cut(b, end - begin));
    count_reserved(blocks_[b].segment, begin, begin - end);
    blocks_[b].state = block_state::unmapped;
    auto& addresses = unmapped_[blocks_[b].small_pool];
    if (auto const right = blocks_[b].right; is(right, block_state::unmapped)) {
      addresses.erase(address_of(right));
      blocks_.join_right(b);
    }
    if (auto const left = blocks_[b].left; is(left, block_state::unmapped))
      blocks_.join_right(left);
    else
      addresses.insert(address_of(b));
  }

  caching_allocator_options options_;
  block_list<> blocks_;
  std::array<block_set, 2> cached_, unmapped_;  // [1] of small blocks
  std::vector<std::int64_t> held_;              // bytes of each segment
  std::vector<reservation> log_;
  allocator_figures figures_;
};

}  // namespace ballast::inline v0_2::detail
