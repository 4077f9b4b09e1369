// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/recompute/forward_operator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The events of a training step in order, and the bytes that are live at each.

namespace ballast::inline v0_2::detail {

/// Throws unless operators are in an order in which they can run, and their sums stay below 2^62.
inline void require_valid(std::span<forward_operator const> operators) {
  constexpr auto most = std::int64_t{1} << 62;
  std::int64_t left = most, time_left = most;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    auto const& o = operators[i];
    auto const name = [&](char const* what) { return "operators[" + std::to_string(i) + "]." + what; };
    require(o.time >= 0 && o.time <= time_left,
            [&] { return name("time") + " = " + std::to_string(o.time) + " is negative, or brings the sum to 2^62"; });
    time_left -= o.time;
    for (auto const value : {o.bytes, o.bytes, o.bytes, o.workspace}) {  // output, recomputed output, gradient, workspace
      require(value >= 0 && value <= left,
              [&] { return name("bytes or workspace") + " = " + std::to_string(value) + " is negative, or brings the sum to 2^62"; });
      left -= value;
    }
    for (auto const j : o.inputs)
      require(j < i, [&] { return name("inputs") + " has " + std::to_string(j) + ", which does not come before it"; });
    for (auto const j : o.needs) require(j <= i, [&] { return name("needs") + " has " + std::to_string(j) + ", which comes after it"; });
  }
}

/// The forward of every operator, then the backwards, with the recomputations that they need.
template <class = when_called>
class step_events {
 public:
  struct event {
    std::size_t of;
    std::size_t asked_by;  // operator whose forward or backward the event is part of
  };

  step_events(std::span<forward_operator const> operators, std::span<bool const> kept)
      : operators_(operators), kept_(kept), first_(operators.size()), again_(operators.size()), own_(operators.size()) {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      first_[i] = {events_.size(), events_.size()};
      for (auto const j : operators[i].inputs) first_[j].last = events_.size();
      events_.push_back({i, i});
    }
    for (auto i = operators.size(); i-- > 0;) {
      for (auto const need : operators[i].needs)
        if (!here(need)) compute_again(need, i);
      for (auto const need : operators[i].needs) use(need);
      own_[i] = events_.size();
      events_.push_back({i, i});
    }
  }
  [[nodiscard]] std::vector<event> const& events() const { return events_; }
  [[nodiscard]] bool computed_again(std::size_t i) const { return again_[i].made != never; }

  /// How the live bytes change at each event, and after the last one.
  [[nodiscard]] std::vector<std::int64_t> changes() const {
    std::vector<std::int64_t> out(events_.size() + 1);
    auto gradient = own_;  // the earliest backward of a reader makes the gradient
    for (auto i = operators_.size(); i-- > 0;)
      for (auto const j : operators_[i].inputs) gradient[j] = (std::min)(gradient[j], own_[i]);
    for (std::size_t i = 0; i < operators_.size(); ++i) {
      auto const alive = [&](std::size_t from, std::size_t to) {
        out[from] += operators_[i].bytes;
        out[to + 1] -= operators_[i].bytes;
      };
      alive(first_[i].made, first_[i].last);
      if (computed_again(i)) alive(again_[i].made, again_[i].last);
      alive(gradient[i], own_[i]);
    }
    return out;
  }

 private:
  static constexpr auto never = (std::numeric_limits<std::size_t>::max)();
  struct lifetime {  // events that make an output and use it last
    std::size_t made = never, last = never;
  };

  [[nodiscard]] bool here(std::size_t v) const { return kept_[v] || computed_again(v); }
  void use(std::size_t v) { (kept_[v] ? first_[v] : again_[v]).last = events_.size(); }
  /// Computes an output again, after its missing inputs.
  void compute_again(std::size_t output, std::size_t asked_by) {
    std::vector<std::pair<std::size_t, std::size_t>> stack{{output, 0}};  // operator, next input
    while (!stack.empty()) {
      auto& [v, next] = stack.back();
      auto const& inputs = operators_[v].inputs;
      while (next < inputs.size() && here(inputs[next])) ++next;
      if (next < inputs.size()) {
        stack.emplace_back(inputs[next], 0);
        continue;
      }
      for (auto const j : inputs) use(j);
      again_[v] = {events_.size(), events_.size()};
      events_.push_back({v, asked_by});
      stack.pop_back();
    }
  }

  std::span<forward_operator const> operators_;
  std::span<bool const> kept_;
  std::vector<lifetime> first_, again_;
  std::vector<std::size_t> own_;  // event of each operator's backward
  std::vector<event> events_;
};

}  // namespace ballast::inline v0_2::detail
