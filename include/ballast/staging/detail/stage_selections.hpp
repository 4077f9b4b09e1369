// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/recompute/option.hpp>
#include <ballast/staging/layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Chains and stages as defined, for the validator: no planner uses this header. Private.

namespace ballast::inline v0_2::detail {

/// The chain layer by layer.
[[nodiscard]] inline std::vector<stage_layer const*> unfolded(layer_chain const& chain) {
  std::vector<stage_layer const*> out;
  for (std::size_t r = 0; r < chain.runs.size(); ++r)
    out.insert(out.end(), static_cast<std::size_t>(chain.runs.counts[r]), &chain.classes[static_cast<std::size_t>(chain.runs.values[r])]);
  return out;
}
[[nodiscard]] inline std::int64_t hidden_part(std::int64_t time, std::int64_t percent) {
  return time / 100 * percent + time % 100 * percent / 100;  // no product that could overflow
}

/// All selections for the layers of a stage that no other selection dominates, by memory.
template <class = when_called>
class stage_selections {
 public:
  stage_selections(std::int64_t largest_room, std::int64_t hidden_percent) : largest_room_(largest_room), percent_(hidden_percent) {}
  /// Whether some selection fits the largest room.
  [[nodiscard]] bool any() const noexcept { return !front_.empty(); }
  void add(stage_layer const& layer) {
    time_ += layer.time;
    grown_.clear();
    for (auto const& o : layer.options)
      for (auto const& f : front_) {
        memory_option sum{f.memory + o.memory, f.time + o.time, f.transfer + o.transfer};
        if (percent_ == 0) sum = {sum.memory, sum.time + sum.transfer, 0};
        if (sum.memory <= largest_room_) grown_.push_back(sum);
      }
    std::sort(grown_.begin(), grown_.end(), [](auto const& a, auto const& b) {
      return a.memory != b.memory ? a.memory < b.memory : a.time != b.time ? a.time < b.time : a.transfer < b.transfer;
    });
    front_.clear();
    for (auto const& g : grown_) {
      auto const worse = [&](memory_option const& f) { return f.time <= g.time && f.transfer <= g.transfer; };
      if (percent_ == 0 ? front_.empty() || !worse(front_.back()) : std::none_of(front_.begin(), front_.end(), worse)) front_.push_back(g);
    }
  }
  /// Time of the stage if its layers may hold `room` bytes; nothing if no selection fits.
  [[nodiscard]] std::optional<std::int64_t> least_time(std::int64_t room) const {
    std::optional<std::int64_t> least;
    for (auto f = std::upper_bound(front_.begin(), front_.end(), room, [](auto r, auto const& way) { return r < way.memory; });
         f != front_.begin();) {
      --f;
      auto const time = time_ + f->time + (std::max)(f->transfer - hidden_part(time_, percent_), std::int64_t{0});
      least = least ? (std::min)(*least, time) : time;
      if (percent_ == 0) break;  // the selection with most memory is the fastest
    }
    return least;
  }

 private:
  std::int64_t largest_room_, percent_, time_ = 0;
  std::vector<memory_option> front_{{}}, grown_;
};

}  // namespace ballast::inline v0_2::detail
