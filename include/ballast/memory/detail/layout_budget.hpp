// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/search_watch.hpp>

#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Counts work against the limits of a search.
template <class = when_called>
class layout_budget {
 public:
  explicit layout_budget(search_limits const& limits) : watch_(limits) {}

  /// Counts operations that are not part of the work of a search.
  void spend(std::uint64_t work) { spent_ += work; }
  /// Whether the search must end, with `work` operations of its own.
  [[nodiscard]] bool over(std::uint64_t work = 0) {
    return spent_ + work >= watch_.limits().work || was_interrupted() || (calls_++ % 64 == 0 && watch_.interrupted(spent_ + work));
  }
  [[nodiscard]] bool interrupted() { return watch_.interrupted(spent_); }
  [[nodiscard]] bool was_interrupted() const { return watch_.was_interrupted(); }

 private:
  search_watch watch_;
  std::uint64_t spent_ = 0, calls_ = 0;
};

}  // namespace ballast::inline v0_2::detail
