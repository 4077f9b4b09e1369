// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief Memory pools of searches, and vectors that take their memory from them.

// A search makes many thousands of small vectors. Their memory comes from a pool that the search keeps, so the system is asked for memory a
// few dozen times at first, and no more once the pool has grown.

namespace ballast::inline v0_2::detail {

/// A pool of blocks whose sizes are powers of two, cut from chunks that double in size. A returned block is the next to be used for its
/// size.
class pooled_memory {
 public:
  pooled_memory() = default;
  pooled_memory(pooled_memory&& other) noexcept { *this = std::move(other); }
  pooled_memory& operator=(pooled_memory&& other) noexcept {
    free_ = std::exchange(other.free_, {});
    chunks_ = std::exchange(other.chunks_, {});
    next_ = std::exchange(other.next_, nullptr);
    left_ = std::exchange(other.left_, 0);
    chunk_ = std::exchange(other.chunk_, first_chunk);
    return *this;
  }

  [[nodiscard]] void* take(std::size_t bytes) {
    auto const size = block_size(bytes);
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
    if (free != nullptr) return std::exchange(free, free->next);
    if (size > left_) {
      while (chunk_ < size) chunk_ *= 2;
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_));
      next_ = chunks_.back().get();
      left_ = chunk_;
      chunk_ *= 2;
    }
    left_ -= size;
    return std::exchange(next_, next_ + size);
  }
  void give_back(void* block, std::size_t bytes) noexcept {
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(block_size(bytes)))];
    free = ::new (block) free_block{free};
  }

  /// The current pool of this thread, from which new vectors take memory; null at first.
  [[nodiscard]] static pooled_memory*& current() noexcept {
    static thread_local pooled_memory* pool = nullptr;
    return pool;
  }

 private:
  struct free_block {
    free_block* next;
  };
  static constexpr std::size_t first_chunk = std::size_t{1} << 16;
  [[nodiscard]] static std::size_t block_size(std::size_t bytes) noexcept { return std::bit_ceil(bytes < 16 ? std::size_t{16} : bytes); }

  std::array<free_block*, 64> free_{};  // free blocks by the logarithm of their size
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::byte* next_ = nullptr;  // the unused part of the last chunk
  std::size_t left_ = 0;
  std::size_t chunk_ = first_chunk;
};

/// Makes a pool the current one during the lifetime of this object. The pool must outlive all vectors that are made meanwhile.
class pool_scope {
 public:
  explicit pool_scope(pooled_memory& pool) noexcept : before_(std::exchange(pooled_memory::current(), &pool)) {}
  pool_scope(pool_scope const&) = delete;
  pool_scope& operator=(pool_scope const&) = delete;
  ~pool_scope() { pooled_memory::current() = before_; }

 private:
  pooled_memory* before_;
};

/// Allocates from the pool that is current when the allocator is made, or from the system if there is none.
template <class T>
class pool_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  pool_allocator() noexcept : pool_(pooled_memory::current()) {}
  template <class U>
  pool_allocator(pool_allocator<U> const& other) noexcept : pool_(other.pool_) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    static_assert(alignof(T) <= 16);
    if (pool_ == nullptr) return std::allocator<T>().allocate(n);
    return static_cast<T*>(pool_->take(n * sizeof(T)));
  }
  void deallocate(T* block, std::size_t n) noexcept {
    if (pool_ == nullptr) return std::allocator<T>().deallocate(block, n);
    pool_->give_back(block, n * sizeof(T));
  }
  template <class U>
  friend bool operator==(pool_allocator const& a, pool_allocator<U> const& b) noexcept {
    return a.pool_ == b.pool_;
  }

 private:
  template <class U>
  friend class pool_allocator;
  pooled_memory* pool_;
};

template <class T>
using pooled_vector = std::vector<T, pool_allocator<T>>;

/// Memory that is not cleared, since it is written before it is read; kept between calls.
template <class T>
class raw_buffer {
 public:
  raw_buffer() = default;
  raw_buffer(raw_buffer&& other) noexcept
      : allocator_(other.allocator_), data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}
  raw_buffer& operator=(raw_buffer&& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~raw_buffer() { release(); }

  /// At least `size` values, indeterminate.
  [[nodiscard]] T* get(std::size_t size) {
    if (size > capacity_) {
      release();
      data_ = allocator_.allocate(size);
      capacity_ = size;
    }
    return data_;
  }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }

 private:
  void release() noexcept {
    if (data_ != nullptr) allocator_.deallocate(std::exchange(data_, nullptr), std::exchange(capacity_, 0));
  }
  pool_allocator<T> allocator_;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace ballast::inline v0_2::detail
