// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <type_traits>

/// @file
/// @brief `search_limits`: when a search stops; `progress_callback`: says how far long work is.

namespace ballast::inline v0_2 {

/// @brief A reference to a callable that is told how far long work is: `void(std::uint64_t done, std::uint64_t most)`.
///
/// `most` is the work that may be done, in a unit of the algorithm, and positive. `done` is at most `most`; it begins again where one
/// search follows another, and work that finds its optimum ends before `most`. Calls come on the thread of the work, about a hundred times
/// at most for each `most`. What the callable throws passes through the algorithm, and leaves the caller's plans and runs as they were.
///
///     auto show = [](std::uint64_t done, std::uint64_t most) { std::cerr << "\r" << 100 * done / most << " %"; };
///     near_optimal(lengths, {.capacity = 8192}, token_cost{}, {.progress = show});
class progress_callback {
 public:
  /// @brief Tells nobody.
  constexpr progress_callback() noexcept = default;
  /// @brief Refers to a callable.
  /// @tparam F  type of the callable
  /// @param tell  is not copied: it has to live until the work returns, so a temporary object is refused
  template <class F>
    requires(std::is_lvalue_reference_v<F> && std::is_object_v<std::remove_reference_t<F>> &&
             std::invocable<F, std::uint64_t, std::uint64_t> && !std::same_as<std::remove_cvref_t<F>, progress_callback>)
  constexpr progress_callback(F&& tell) noexcept
      : object_(std::addressof(const_cast<std::remove_cvref_t<F>&>(tell))),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        call_([](void* object, std::uint64_t done, std::uint64_t most) {
          (void)(*static_cast<std::remove_reference_t<F>*>(object))(done, most);
        }) {}
  /// @brief Tells the callable, if there is one. @param done work done @param most work that may be done
  void operator()(std::uint64_t done, std::uint64_t most) const {
    if (call_ != nullptr) call_(object_, done, most);
  }

 private:
  void* object_ = nullptr;
  void (*call_)(void*, std::uint64_t, std::uint64_t) = nullptr;
};

/// @brief When a search stops: limits on its work, its gap and its time.
///
/// Work is counted in operations, so the plan does not depend on the speed of the machine. Only `stop` and `wall_clock` make it depend on
/// time, and the result then says that it is not complete. More work never gives a worse plan.
struct search_limits {
  /// Largest number of elementary operations: about a nanosecond each on a core of 2 to 3 GHz (a few cells of a knapsack's table, one entry
  /// of a simplex inverse, a hundredth of a trial exchange). A phase that has begun is finished first, so more may be spent, but less than
  /// twice as much.
  std::uint64_t work = 1'000'000'000;
  double gap = 0;                          ///< stop when value / lower_bound - 1 is at most this; 0: when proven optimal
  std::stop_token stop{};                  ///< when a stop is requested, the best plan so far is returned
  std::chrono::nanoseconds wall_clock{0};  ///< after this time, the best plan so far is returned; 0: no limit
  progress_callback progress{};            ///< is told how much of `work` is done
};

}  // namespace ballast::inline v0_2
