// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

/// @file
/// @brief `search_watch` and `search_budget`: what a search asks now and then about its work, its stop token, its clock and its progress.
/// For writers of searches.

namespace ballast::inline v0_2 {

/// @brief Notices a requested stop and the end of the wall-clock time of a search, and tells how far it is.
class search_watch {
 public:
  /// @brief Starts the clock. @param limits the limits of the search
  explicit search_watch(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}

  /// @brief The limits of the search.
  [[nodiscard]] search_limits const& limits() const noexcept { return limits_; }
  /// @brief Whether an earlier question was answered by yes.
  [[nodiscard]] bool was_interrupted() const noexcept { return interrupted_; }
  /// @brief Whether the search has to end, whatever its work; once it has, always. Reads the clock if there is a limit on it.
  /// @param spent  work so far, in the unit of `search_limits::work`; told as progress where it has grown by a 128th of the limit
  [[nodiscard]] bool interrupted(std::uint64_t spent) {
    if (spent >= tell_at_) {
      tell_at_ = spent + limits_.work / 128 + 1;
      if (limits_.work > 0) limits_.progress((std::min)(spent, limits_.work), limits_.work);
    }
    return interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
  }

 private:
  using clock = std::chrono::steady_clock;
  search_limits limits_;
  clock::time_point deadline_;
  std::uint64_t tell_at_ = 0;
  bool interrupted_ = false;
};

/// @brief Counts the work of a search against its limits.
class search_budget {
 public:
  /// @brief Starts the clock.
  /// @param limits       the limits of the search
  /// @param interval     work between two looks at the stop token and the clock, for searches that ask very often
  explicit search_budget(search_limits const& limits, std::uint64_t interval = 0)
      : watch_(limits), limit_(limits.work), interval_(interval) {}
  /// @brief A part of the limit with the same clock, which may be spent beyond the limit. @param of how many parts there are
  [[nodiscard]] search_budget part(std::uint64_t of) const {
    auto out = *this;
    out.limit_ /= of;
    out.spent_ = out.next_look_ = 0;
    return out;
  }
  /// @brief Counts what a part has spent. @param spent the part, which is over
  void add(search_budget const& spent) {
    spent_ += spent.spent_;
    watch_ = spent.watch_;
  }

  /// @brief Counts work. @param work in the unit of `search_limits::work`
  void spend(std::uint64_t work) noexcept { spent_ += work; }
  /// @brief The work so far.
  [[nodiscard]] std::uint64_t spent() const noexcept { return spent_; }
  /// @brief The limit on the work.
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  /// @brief Whether a stop or the clock ended the search.
  [[nodiscard]] bool interrupted() const noexcept { return watch_.was_interrupted(); }
  /// @brief Whether the search may go on. @param end the work at which a part of it ends
  [[nodiscard]] bool allows(std::uint64_t end = ~std::uint64_t{0}) { return spent_ < (std::min)(limit(), end) && in_time(); }
  /// @brief Whether a phase that has begun may go on: until half of the limit more is spent.
  [[nodiscard]] bool bears() { return spent_ / 3 <= limit() / 2 && in_time(); }
  /// @brief Whether neither a stop nor the clock ends the search.
  [[nodiscard]] bool in_time() {
    if (spent_ < next_look_) return !interrupted();
    next_look_ = spent_ + interval_;
    return !watch_.interrupted(spent_);
  }
  /// @brief Whether a certificate has at most the wanted gap. @param found the certificate
  [[nodiscard]] bool satisfied(certificate const& found) const noexcept { return found.gap() <= watch_.limits().gap; }

 private:
  search_watch watch_;
  std::uint64_t limit_, interval_, spent_ = 0, next_look_ = 0;
};

}  // namespace ballast::inline v0_2
