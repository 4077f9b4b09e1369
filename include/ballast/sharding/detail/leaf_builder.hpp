// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// Single ranks: samples that are not shared. Each rank gets a number of passes first, which is charged at once, and then samples.

namespace ballast::inline v0_2::detail {

/// How many passes each rank gets.
enum class pass_count : std::uint8_t {
  by_tokens,  // as many as all tokens need, one after the other to the rank of least load
  by_supply,  // one after the other to the rank that can hold most tokens more in its time
};

/// How samples are placed.
enum class leaf_order : std::uint8_t {
  least_load,  // on the rank of least load with room
  by_ratio,    // dense samples on ranks where time is left, sparse ones where tokens are left
  by_pass,     // the same for each pass, which gets its share of the rank's time
};

/// Places whole samples on ranks.
class leaf_builder {
 public:
  explicit leaf_builder(degree_times const& t) : t_(t) {
    if (!t.by_length) slowest_first_ = order_by<std::size_t>(t.length.size(), [&](std::size_t i) { return -t.at(i, 0); });
  }

  /// Places all waiting samples. `load` is that of each rank so far; `share` is the planned room, in thousandths of the waiting tokens.
  /// Returns false, with an unfinished plan, if there is no plan below `best`, or not enough time by the rule.
  bool build(std::int64_t limit, pass_count counts, leaf_order order, std::int64_t share, std::vector<std::int64_t> const& load,
             std::int64_t best, waiting_samples& waiting, block_plan& plan) {
    limit_ = limit;
    waiting_ = &waiting;
    start_ = &load;
    auto const ranks = load.size();
    passes_.assign(ranks, 0);
    if (waiting.tokens > 0) {
      auto const wanted = waiting.tokens / 1000 * share + waiting.tokens % 1000 * share / 1000;
      if (counts == pass_count::by_tokens)
        count_by_tokens(wanted);
      else if (!count_by_supply(wanted))
        return false;
    }
    load_.resize(ranks);
    room_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      load_[r] = load[r] + passes_[r] * t_.options.cost_per_pass;
      room_[r] = passes_[r] * t_.options.capacity;
    }
    place_of_.assign(t_.length.size(), none);
    if (order == leaf_order::by_pass) return passes_as_places() && place_by_ratio() && pack_places(best, plan);
    return (order == leaf_order::least_load ? place_by_load(best) : place_by_ratio()) && pack(best, plan);
  }

 private:
  static constexpr std::uint32_t none = (std::numeric_limits<std::uint32_t>::max)();
  void count_by_tokens(std::int64_t wanted) {
    auto const capacity = t_.options.capacity, fixed = t_.options.cost_per_pass;
    auto const full = waiting_->mean_time(capacity) + fixed;  // time of a full pass
    heap_.fill(passes_.size(), [&](std::uint32_t r) { return (*start_)[r]; });
    for (auto passes = divide_up(wanted, capacity); passes > 0; --passes) {
      ++passes_[heap_.top().place];
      heap_.raise(heap_.top().key + full);
    }
    auto const shortest = t_.at(t_.length.size() - 1, 0);
    for (std::size_t r = 0; r < passes_.size(); ++r)
      if (passes_[r] == 0 && (*start_)[r] + fixed + shortest <= limit_) passes_[r] = 1;
  }
  /// Tokens of mean density that a rank holds in its time with that many passes.
  [[nodiscard]] std::int64_t hold(std::size_t r, std::int64_t passes) const {
    auto const time = limit_ - (*start_)[r] - passes * t_.options.cost_per_pass, room = passes * t_.options.capacity;
    if (time <= 0 || waiting_->time == 0) return time < 0 ? 0 : room;
    if (multiply(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(waiting_->tokens)).high >=
        static_cast<std::uint64_t>(waiting_->time))
      return room;
    return (std::min)(room, static_cast<std::int64_t>((std::min)(
                                multiply_divide_up(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(waiting_->tokens),
                                                   static_cast<std::uint64_t>(waiting_->time)),
                                std::uint64_t{1} << 62)));
  }
  [[nodiscard]] bool count_by_supply(std::int64_t wanted) {
    heap_.fill(passes_.size(), [&](std::uint32_t r) { return -hold(r, 1); });
    for (std::int64_t supply = 0; supply < wanted;) {
      auto const [key, r] = heap_.top();
      if (key >= 0) return false;
      supply -= key;
      ++passes_[r];
      heap_.raise(hold(r, passes_[r]) - hold(r, passes_[r] + 1));
    }
    return true;
  }

  /// The next waiting sample goes to the rank of least load with room; ranks without room wait in `parked_` for a shorter sample.
  [[nodiscard]] bool place_by_load(std::int64_t best) {
    heap_.fill(load_.size(), [&](std::uint32_t r) { return load_[r]; });
    parked_.clear();  // most room first
    auto const n = t_.length.size();
    for (std::size_t k = 0; k < n; ++k) {
      auto const i = slowest_first_.empty() ? k : slowest_first_[k];
      if (waiting_->from(i) != i) continue;
      auto const length = t_.length[i];
      for (; !parked_.empty() && -parked_.top().key >= length; parked_.pop()) heap_.push(load_[parked_.top().place], parked_.top().place);
      for (; !heap_.empty() && room_[heap_.top().place] < length; heap_.pop()) parked_.push(-room_[heap_.top().place], heap_.top().place);
      if (heap_.empty()) open_pass();
      auto const r = heap_.top().place;
      put(i, r);
      if (load_[r] >= best) return false;
      heap_.raise(load_[r]);
    }
    return true;
  }
  /// All ranks are parked: one more pass for the one of least load.
  void open_pass() {
    std::uint32_t r = 0;
    for (std::uint32_t k = 1; k < load_.size(); ++k)
      if (load_[k] < load_[r]) r = k;
    ++passes_[r];
    load_[r] += t_.options.cost_per_pass;
    room_[r] += t_.options.capacity;
    parked_.clear();
    for (std::uint32_t k = 0; k < load_.size(); ++k)
      if (k != r) parked_.push(-room_[k], k);
    heap_.push(load_[r], r);
  }
  /// The next sample goes to the place with most time left for each token of room, among those where it fits. The others are parked until
  /// the first sample that is short enough for them.
  [[nodiscard]] bool place_by_ratio() {
    auto const before = [&](std::uint32_t a, std::uint32_t b) {  // less ratio first, so that the first of the heap has most
      auto const sign = compare_products(limit_ - load_[a], room_[b], limit_ - load_[b], room_[a]);
      return sign != 0 ? sign < 0 : a > b;
    };
    order_.clear();
    parked_.clear();
    for (std::uint32_t p = 0; p < load_.size(); ++p)
      if (room_[p] > 0 && load_[p] < limit_) order_.push_back(p);
    std::make_heap(order_.begin(), order_.end(), before);
    auto const n = t_.length.size();
    for (auto i = waiting_->from(0); i < n; i = waiting_->from(i + 1)) {
      for (; !parked_.empty() && parked_.top().key <= static_cast<std::int64_t>(i); parked_.pop()) {
        order_.push_back(parked_.top().place);
        std::push_heap(order_.begin(), order_.end(), before);
      }
      for (;;) {
        if (order_.empty()) return false;
        std::pop_heap(order_.begin(), order_.end(), before);
        auto const p = order_.back();
        if (room_[p] >= t_.length[i] && limit_ - load_[p] >= t_.at(i, 0)) break;
        order_.pop_back();
        auto const fits = waiting_->quicker(waiting_->shorter(i, room_[p]), 0, limit_ - load_[p]);
        if (fits < n) parked_.push(static_cast<std::int64_t>(fits), p);
      }
      put(i, order_.back());
      std::push_heap(order_.begin(), order_.end(), before);
    }
    return true;
  }
  /// Makes each pass a place with its share of the rank's time.
  [[nodiscard]] bool passes_as_places() {
    auto const ranks = load_.size();
    std::size_t places = 0;
    for (auto const k : passes_) places += static_cast<std::size_t>(k);
    if (places == 0) return waiting_->tokens == 0;
    owner_.clear();
    shares_.clear();
    for (std::uint32_t r = 0; r < ranks; ++r)
      for (std::int64_t k = 0; k < passes_[r]; ++k) {
        owner_.push_back(r);
        shares_.push_back(limit_ - (limit_ - load_[r]) / passes_[r]);
      }
    load_.swap(shares_);
    room_.assign(load_.size(), t_.options.capacity);
    return true;
  }
  void put(std::size_t i, std::uint32_t r) {
    place_of_[i] = r;
    load_[r] += t_.at(i, 0);
    room_[r] -= t_.length[i];
    waiting_->take(i);
  }

  /// The samples of each rank into its passes, first-fit decreasing. Returns false if the largest load reaches `best`.
  bool pack(std::int64_t best, block_plan& plan) {
    auto const ranks = load_.size(), n = t_.length.size();
    first_.assign(ranks + 1, 0);
    for (std::size_t i = 0; i < n; ++i)
      if (place_of_[i] != none) ++first_[place_of_[i] + std::size_t{1}];
    for (std::size_t r = 0; r < ranks; ++r) first_[r + 1] += first_[r];
    sorted_.resize(first_[ranks]);
    for (std::size_t i = 0; i < n; ++i)
      if (place_of_[i] != none) sorted_[first_[place_of_[i]]++] = static_cast<std::uint32_t>(i);
    std::int64_t largest = 0;
    std::size_t from = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      auto const to = first_[r];
      auto const load = (*start_)[r] + pack_rank(static_cast<std::uint32_t>(r), from, to, plan);
      largest = (std::max)(largest, load);
      if (largest >= best) return false;
      from = to;
    }
    plan.value = largest;
    return true;
  }
  /// Each place as a pass. Returns false if the largest load reaches `best`.
  bool pack_places(std::int64_t best, block_plan& plan) {
    std::vector<std::int64_t>& loads = shares_;
    loads = *start_;
    pass_of_.assign(owner_.size(), none);  // once the place has a sample
    for (std::size_t i = 0; i < place_of_.size(); ++i) {
      auto const place = place_of_[i];
      if (place == none) continue;
      if (pass_of_[place] == none) {
        pass_of_[place] = static_cast<std::uint32_t>(plan.passes.size());
        plan.passes.push_back({owner_[place], 0, room_[place]});
        loads[owner_[place]] += t_.options.cost_per_pass;
      }
      plan.placements.push_back({static_cast<std::uint32_t>(i), pass_of_[place], block_placement::everywhere});
      loads[owner_[place]] += t_.at(i, 0);
    }
    plan.value = *std::max_element(loads.begin(), loads.end());
    return plan.value < best;
  }
  /// Returns the time of the passes of one rank.
  std::int64_t pack_rank(std::uint32_t r, std::size_t from, std::size_t to, block_plan& plan) {
    std::int64_t time = 0;
    if (from == to) return time;
    auto const shortest = t_.length[sorted_[to - 1]];
    auto const first_pass = plan.passes.size();
    std::size_t closed = first_pass;  // passes before it have no room for any sample
    for (auto k = from; k < to; ++k) {
      auto const i = sorted_[k];
      auto const length = t_.length[i];
      auto p = closed;
      while (p < plan.passes.size() && plan.passes[p].room < length) ++p;
      if (p == plan.passes.size()) {
        plan.passes.push_back({r, 0, t_.options.capacity});
        time += t_.options.cost_per_pass;
      }
      plan.passes[p].room -= length;
      plan.placements.push_back({i, static_cast<std::uint32_t>(p), block_placement::everywhere});
      time += t_.at(i, 0);
      while (closed < plan.passes.size() && plan.passes[closed].room < shortest) ++closed;
    }
    return time;
  }

  degree_times const& t_;
  std::int64_t limit_ = 0;
  waiting_samples* waiting_ = nullptr;
  std::vector<std::int64_t> const* start_ = nullptr;
  std::vector<std::int64_t> passes_, load_, room_;  // of each rank
  load_heap heap_, parked_;
  std::vector<std::int64_t> shares_;
  std::vector<std::uint32_t> order_, sorted_;
  std::vector<std::uint32_t> place_of_;             // rank, or pass for `leaf_order::by_pass`, of each sample
  std::vector<std::uint32_t> owner_, pass_of_;      // of each place: its rank, its pass in the plan
  std::vector<std::size_t> first_, slowest_first_;  // positions by falling time, where lengths do not tell it
};

}  // namespace ballast::inline v0_2::detail
