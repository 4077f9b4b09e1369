// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/gpu/core/on_host.cuh>

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

/// @file
/// @brief A backend whose lanes are fibers, which ThreadSanitizer takes for threads. So it finds what no other backend of the host shows:
/// lanes, blocks or indices that touch one word in one phase without atomics, and stores outside `each`, which a device does once a lane.
///
/// Two blocks run at a time, each on three fibers. As on a device, every fiber runs the whole body with the lanes that fall to it, other
/// ones in each phase, and a phase ends in a barrier of the fibers of its block alone. Fibers take turns at barriers, so a run is the same
/// each time and needs one core; a race is found all the same, because nothing but a barrier orders what two of them do.

namespace ballast_test {

/// @brief A number that orders nothing that is done before or after.
class unordered {
 public:
  operator unsigned() const { return value_.load(std::memory_order_relaxed); }
  unsigned operator=(unsigned to) { return value_.store(to, std::memory_order_relaxed), to; }

 private:
  std::atomic<unsigned> value_{0};
};

/// @brief The fibers of the program.
class lane_fibers {
 public:
  static constexpr unsigned most = 6;
  static lane_fibers& get() {
    static lane_fibers one;
    return one;
  }
  /// @brief Runs f(0) … f(count - 1), each on its own fiber, and waits for them.
  void run(std::size_t count, std::function<void(std::size_t)> const& f) {
    if (count == 0) return;
    work_ = &f;
    left_ = (1U << (count + 1)) - 2;  // bit 0 is the caller's
    __tsan_release(&begin_);
    switch_to_next();
    __tsan_acquire(&end_);
  }
  /// @brief Lets the next fiber run that has work left; without one, the caller of `run`.
  void switch_to_next() {
    unsigned const from = now_, left = left_;
    auto to = from;
    if (left == 0)
      to = 0;
    else
      do to = to % most + 1;
      while ((left >> to & 1) == 0);
    now_ = to;
    __tsan_switch_to_fiber(known_[to], __tsan_switch_to_fiber_no_sync);
    swapcontext(&contexts_[from], &contexts_[to]);
  }

 private:
  lane_fibers() {
    known_[0] = __tsan_get_current_fiber();
    for (unsigned i = 1; i <= most; ++i) {
      known_[i] = __tsan_create_fiber(0);
      stacks_[i].resize(std::size_t{1} << 18);
      getcontext(&contexts_[i]);
      contexts_[i].uc_stack.ss_sp = stacks_[i].data();
      contexts_[i].uc_stack.ss_size = stacks_[i].size();
      makecontext(&contexts_[i], reinterpret_cast<void (*)()>(&lane_fibers::live), 1, i);
    }
  }
  static void live(unsigned own) {
    for (auto& all = get();;) {
      __tsan_acquire(&all.begin_);
      (*all.work_)(own - 1);
      __tsan_release(&all.end_);
      all.left_ = all.left_ & ~(1U << own);
      all.switch_to_next();
    }
  }
  std::function<void(std::size_t)> const* work_ = nullptr;
  unordered now_, left_;      // the fiber that runs, and a bit for each that has work left
  char begin_ = 0, end_ = 0;  // what fibers wait for has an address
  std::array<void*, most + 1> known_{};
  std::array<ucontext_t, most + 1> contexts_{};
  std::array<std::vector<char>, most + 1> stacks_;
};

/// @brief What the fibers of a block share.
struct lane_team {
  static constexpr unsigned fibers = 3;
  std::vector<std::uint64_t> memory;          ///< the shared memory
  std::array<std::uint64_t, fibers> found{};  ///< what each fiber brings to `least` and `total`
  unordered arrived, barriers;                ///< how many are at the next barrier, and how many barriers are over
  std::array<char, 2> even_and_odd{};         ///< addresses of two barriers in a row, or what leaves the first would wait for the second
  void barrier() {
    unsigned const at = barriers;
    __tsan_release(&even_and_odd[at % 2]);
    if (arrived = arrived + 1; arrived == fibers) {
      arrived = 0;
      barriers = at + 1;
    } else {
      while (barriers == at) lane_fibers::get().switch_to_next();
    }
    __tsan_acquire(&even_and_odd[at % 2]);
  }
};

/// @brief A block, as one of its fibers sees it.
class lane_block {
 public:
  lane_block(lane_team& team, unsigned lanes, unsigned fiber) : team_(team), lanes_(lanes), fiber_(fiber) {}
  [[nodiscard]] unsigned lanes() const { return lanes_; }
  template <class T>
  [[nodiscard]] T* shared() const {
    return reinterpret_cast<T*>(team_.memory.data());
  }
  template <class F>
  void each(F const& f) {
    for (auto lane = (fiber_ + turn_++) % team_.fibers; lane < lanes_; lane += team_.fibers) f(lane);
    team_.barrier();
  }
  template <class F>
  void first_warp(F const& f) {
    lane_block warp(team_, 32, fiber_);
    f(warp);
    team_.barrier();
  }
  template <class F>
  [[nodiscard]] auto least(F const& f) {
    return combine(f, [](auto a, auto b) { return (std::min)(a, b); });
  }
  template <class F>
  [[nodiscard]] auto total(F const& f) {
    return combine(f, [](auto a, auto b) { return a + b; });
  }
  template <class F, class G>
  void sums_before(F const& f, G const& g) {
    decltype(f(0U)) sum{};
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      if (lane % team_.fibers == fiber_) g(lane, sum);
      sum += f(lane);
    }
    team_.barrier();
  }

 private:
  template <class F, class Op>
  auto combine(F const& f, Op const& op) {
    auto all = f(fiber_);
    for (auto lane = fiber_ + team_.fibers; lane < lanes_; lane += team_.fibers) all = op(all, f(lane));
    team_.found[fiber_] = static_cast<std::uint64_t>(all);
    team_.barrier();
    using value = decltype(all);
    all = static_cast<value>(team_.found[0]);
    for (auto i = 1U; i < team_.fibers; ++i) all = op(all, static_cast<value>(team_.found[i]));
    team_.barrier();  // before the next call writes
    return all;
  }
  lane_team& team_;
  unsigned lanes_, fiber_, turn_ = 0;
};

/// @brief The backend: `on_host` whose indices and lanes are shared by fibers.
struct on_lanes : ballast::gpu::on_host {
  template <class F>
  error_type for_each(std::size_t count, F f) const {
    ballast::gpu::detail::require_functor<F>();
    lane_fibers::get().run((std::min)(count, std::size_t{lane_fibers::most}), [=](std::size_t fiber) {
      for (auto i = fiber; i < count; i += lane_fibers::most) f(i);
    });
    return {};
  }
  template <class Body>
  error_type blocks(std::size_t count, unsigned lanes, std::size_t shared_bytes, Body body) const {
    ballast::gpu::detail::require_functor<Body>();
    auto const teams = (std::min)(count, std::size_t{lane_fibers::most / lane_team::fibers});
    std::deque<lane_team> team(teams);
    for (auto& one : team) one.memory.assign(shared_bytes / sizeof(std::uint64_t) + 1, 0xa5a5a5a5a5a5a5a5U);
    lane_fibers::get().run(teams * lane_team::fibers, [&](std::size_t fiber) {
      auto& own = team[fiber / lane_team::fibers];
      for (auto b = fiber / lane_team::fibers; b < count; b += teams) {
        lane_block block(own, lanes, static_cast<unsigned>(fiber % lane_team::fibers));
        body(block, b);
        own.barrier();
      }
    });
    return {};
  }
};

}  // namespace ballast_test
