// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/on_host.cuh>

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief A backend that pretends to be a device, so that AddressSanitizer finds on any machine what would go wrong on a real one: work is
/// queued and done only when the host waits; in between, the host can neither read nor write memory of the device, nor the target of a
/// queued copy; fresh memory and shared memory are garbage; blocks, lanes and indices run in random order.

namespace ballast_test {

/// @brief Ends the program: the rule that was broken.
[[noreturn]] inline void break_rule(char const* rule) {
  std::fprintf(stderr, "pretended device: %s\n", rule);
  std::_Exit(1);  // CTest lets no test pass that aborts, and a planted fault shall
}

/// @brief The queue and the memory of the device.
class pretended_device {
 public:
  static pretended_device& get() {
    static pretended_device one;
    return one;
  }
  pretended_device() = default;
  pretended_device(pretended_device const&) = delete;
  pretended_device& operator=(pretended_device const&) = delete;
  /// @brief Does what is left to do when the program ends.
  ~pretended_device() {
    run_until(queued_);
    if (!arrays_.empty()) break_rule("memory is not freed");
  }
  /// @brief Starts a run with its own random orders.
  void seed(std::uint64_t value) { random_ = ballast::splitmix64(value); }
  std::uint64_t random() { return random_(); }
  void queue(std::function<void()> work) {
    if (capturing_) return captured_.push_back(std::move(work));
    queue_.push_back(std::move(work));
    ++queued_;
  }
  /// @brief From here on, work is kept instead of queued, and nobody may wait.
  void begin_capture() { capturing_ = true; }
  /// @brief The work since then.
  [[nodiscard]] std::vector<std::function<void()>> end_capture() {
    capturing_ = false;
    return std::exchange(captured_, {});
  }
  [[nodiscard]] std::uint64_t queued() const { return queued_; }
  /// @brief Does the first so many of all works ever queued.
  void run_until(std::uint64_t count) {
    if (capturing_) break_rule("a captured twin waits");
    if (done_ >= count) return;
    for (auto const& [memory, bytes] : arrays_) ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    while (done_ < count) {
      auto const work = std::move(queue_.front());
      queue_.pop_front();
      ++done_;
      work();
    }
    for (auto const& [memory, bytes] : arrays_) ASAN_POISON_MEMORY_REGION(memory, bytes);
  }
  void* allocate(std::size_t bytes) {
    if (capturing_) break_rule("a captured twin allocates");
    auto* const memory = ::operator new(bytes, std::align_val_t{256});
    std::memset(memory, 0xcd, bytes);
    ASAN_POISON_MEMORY_REGION(memory, bytes);
    arrays_[memory] = bytes;
    return memory;
  }
  void free(void* memory) {
    auto const found = arrays_.find(memory);
    if (found == arrays_.end()) break_rule("memory is freed that was not allocated");
    ASAN_UNPOISON_MEMORY_REGION(memory, found->second);
    arrays_.erase(found);
    ::operator delete(memory, std::align_val_t{256});
  }

 private:
  ballast::splitmix64 random_{1};
  std::map<void*, std::size_t> arrays_;  // with their sizes
  std::deque<std::function<void()>> queue_;
  std::vector<std::function<void()>> captured_;
  bool capturing_ = false;
  std::uint64_t queued_ = 0, done_ = 0;
};

/// @brief 0 … count - 1 ascending, descending, rotated or shuffled.
template <class T>
void mix(std::vector<T>& order) {
  auto& device = pretended_device::get();
  auto const draw = device.random();
  switch (draw % 4) {
    case 0: std::reverse(order.begin(), order.end()); break;
    case 1:
      if (!order.empty()) std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>((draw >> 8) % order.size()), order.end());
      break;
    case 2:
      for (auto i = order.size(); i > 1; --i) std::swap(order[i - 1], order[device.random() % i]);
      break;
    default: break;
  }
}
[[nodiscard]] inline std::vector<std::size_t> random_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  mix(order);
  return order;
}

/// @brief A block whose lanes run in another order in each phase.
class pretended_block {
 public:
  pretended_block(unsigned lanes, void* memory) : memory_(memory), order_(lanes) { std::iota(order_.begin(), order_.end(), 0U); }
  [[nodiscard]] unsigned lanes() const { return static_cast<unsigned>(order_.size()); }
  template <class T>
  [[nodiscard]] T* shared() const {
    return static_cast<T*>(memory_);
  }
  template <class F>
  void each(F const& f) {
    mix(order_);
    for (auto const lane : order_) f(lane);
  }
  template <class F>
  void first_warp(F const& f) {
    pretended_block warp(32, memory_);
    f(warp);
  }
  template <class F>
  [[nodiscard]] auto least(F const& f) {
    mix(order_);
    auto found = f(order_[0]);
    for (std::size_t i = 1; i < order_.size(); ++i) found = (std::min)(found, f(order_[i]));
    return found;
  }
  template <class F>
  [[nodiscard]] auto total(F const& f) {
    mix(order_);
    auto found = f(order_[0]);
    for (std::size_t i = 1; i < order_.size(); ++i) found += f(order_[i]);
    return found;
  }
  template <class F, class G>
  void sums_before(F const& f, G const& g) {
    std::vector<decltype(f(0U))> sums(order_.size() + 1);
    for (unsigned lane = 0; lane < lanes(); ++lane) sums[lane + 1] = sums[lane] + f(lane);
    mix(order_);
    for (auto const lane : order_) g(lane, sums[lane]);
  }

 private:
  void* memory_;
  std::vector<unsigned> order_;
};

/// @brief The backend; its members are those of `on_host`.
struct on_pretended {
  using error_type = ballast::gpu::host_error;
  static constexpr error_type invalid_value = error_type::invalid_value;
  struct event {
    std::uint64_t queued = 0;
  };
  bool captures = false;  ///< whether a call of a twin is captured and launched twice (backends.hpp)

  template <class F>
  error_type for_each(std::size_t count, F f) const {
    ballast::gpu::detail::require_functor<F>();
    static_assert(sizeof(F) <= 4096, "parameters of a kernel have 4 KiB");
    return queue([=] {
      for (auto const i : random_order(count)) f(i);
    });
  }
  template <class In, class Out, class T>
  error_type exclusive_sum(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, T init) const {
    return with_scratch(temp, bytes, 0, [=](std::size_t used) { (void)host.exclusive_sum(temp, used, in, out, count, init); });
  }
  template <class In, class Out, class Op>
  error_type inclusive_scan(void* temp, std::size_t& bytes, In in, Out out, std::size_t count, Op op) const {
    return with_scratch(temp, bytes, 0, [=](std::size_t used) { (void)host.inclusive_scan(temp, used, in, out, count, op); });
  }
  template <class In, class T, class Op>
  error_type reduce(void* temp, std::size_t& bytes, In in, T* out, std::size_t count, T init, Op op) const {
    return with_scratch(temp, bytes, 0, [=](std::size_t) {
      auto all = init;
      for (auto const i : random_order(count)) all = op(all, in[static_cast<std::ptrdiff_t>(i)]);
      *out = all;
    });
  }
  template <class Key, class Value>
  error_type sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out,
                             std::size_t count, int bits) const {
    return with_scratch(temp, bytes, count, [=](std::size_t used) {
      (void)host.sort_descending(temp, used, keys_in, keys_out, values_in, values_out, count, bits);
    });
  }
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    ballast::gpu::detail::require_functor<Body>();
    static_assert(sizeof(Body) <= 4096, "parameters of a kernel have 4 KiB");
    if (lanes == 0 || lanes > ballast::gpu::detail::most_lanes_of<Body> || lanes % 32 != 0)
      break_rule("a block has 32 to 1024 lanes, or its own most, a multiple of 32");
    if (shared_bytes > shared_memory()) break_rule("a block asks for more shared memory than there is");
    return queue([=] {
      auto const words = shared_bytes / 8 + (shared_bytes % 8 != 0);
      for (auto const b : random_order(count)) {
        std::vector<std::uint64_t> memory(words, 0xa5a5a5a5a5a5a5a5U);
        pretended_block block(lanes, memory.data());
        body(block, b);
      }
    });
  }
  [[nodiscard]] std::size_t shared_memory() const { return host.shared_memory(); }
  error_type fill(void* data, int value, std::size_t count) const {
    return queue([=] {
      if (count != 0) std::memset(data, value, count);
    });
  }
  template <class T>
  error_type download(T* to, T const* from, std::size_t count) const {
    queue([=] { (void)host.download(to, from, count); });
    return synchronize();
  }
  template <class T>
  error_type upload(T* to, T const* from, std::size_t count) const {
    return download(to, from, count);
  }
  error_type queue_download(void* to, void const* from, std::size_t bytes) const {
    ASAN_POISON_MEMORY_REGION(to, bytes);
    return queue([=] {
      ASAN_UNPOISON_MEMORY_REGION(to, bytes);
      (void)host.queue_download(to, from, bytes);
    });
  }
  error_type queue_upload(void* to, void const* from, std::size_t bytes) const {
    auto const* const begin = static_cast<std::byte const*>(from);
    return queue([=, then = std::vector<std::byte>(begin, begin + bytes)] {
      if (bytes != 0 && std::memcmp(then.data(), from, bytes) != 0)
        break_rule("the source of a queued copy was changed before it was copied");
      (void)host.queue_upload(to, from, bytes);
    });
  }
  error_type record(event& at) const { return at.queued = pretended_device::get().queued(), error_type{}; }
  error_type wait(event const& at) const { return pretended_device::get().run_until(at.queued), error_type{}; }
  error_type synchronize() const { return wait({pretended_device::get().queued()}); }
  error_type allocate(std::size_t bytes, void*& out) const { return out = pretended_device::get().allocate(bytes), error_type{}; }
  void release(void* memory) const noexcept {
    queue([=] { pretended_device::get().free(memory); });
  }
  error_type allocate_host(std::size_t bytes, void*& out) const { return host.allocate_host(bytes, out); }
  void release_host(void* memory) const noexcept { host.release_host(memory); }

 private:
  static constexpr ballast::gpu::on_host host{};
  static constexpr std::size_t scratch = 777;

  static error_type queue(std::function<void()> work) { return pretended_device::get().queue(std::move(work)), error_type{}; }
  // Scratch memory of a primitive: demanded in full, and overwritten.
  template <class Work>
  static error_type with_scratch(void* temp, std::size_t& bytes, std::size_t more, Work const& work) {
    if (temp == nullptr) return bytes = scratch + more, error_type{};
    if (bytes < scratch + more) return invalid_value;
    return queue([=] {
      std::memset(temp, 0x5a, scratch + more);
      work(scratch + more);
    });
  }
};

}  // namespace ballast_test
