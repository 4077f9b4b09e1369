// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

/// @file
/// @brief `progress_callback`: says how far long work is.

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

}  // namespace ballast::inline v0_2
