// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/pair_exchange.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/core/least_of.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The rules by which samples are distributed over the ranks of one step.
enum class deal_rule : std::uint8_t { rate_mean, rate_cap, longest_first };

/// Distributes the samples of one step over ranks, longest first, and packs each rank's share into its micro-batches.
template <index_type Index>
class step_dealer {
 public:
  step_dealer(weighed_samples const& items, std::uint64_t ranks, std::uint64_t micro_batches, std::int64_t capacity)
      : items_(items),
        ranks_(static_cast<std::size_t>(ranks)),
        each_(static_cast<std::size_t>(micro_batches)),
        capacity_(capacity),
        room_in_rank_(capacity * static_cast<std::int64_t>(micro_batches)) {
    deal_.sets = ranks;
    deal_.capacity = room_in_rank_;
  }

  /// Tries the rules in turn until one is within `enough` per mille of the step's lower bound, improves the best and packs it. `base` are
  /// tokens and costs that the places of all ranks already have from shared samples; may be empty.
  void operator()(std::span<Index const> samples, std::span<deal_rule const> rules, std::int64_t enough = 1,
                  std::span<std::pair<std::int64_t, std::int64_t> const> base = {}) {
    gather(samples);
    base_ = base;
    deal_by_best(rules, enough);
    balance_and_pack();
  }

  /// Takes the samples that `deal_all` and `improve` distribute.
  void gather(std::span<Index const> samples) {
    auto const n = samples.size();
    keys_.resize(n);
    longest_ = 0;
    for (std::size_t i = 0; i < n; ++i) {  // squares of tokens are below 2^63, so tokens and place share a word
      auto const t = items_.tokens[samples[i]];
      longest_ = (std::max)(longest_, t);
      keys_[i] = (most_tokens - static_cast<std::uint64_t>(t)) << 32 | i;
    }
    auto const top = most_tokens - static_cast<std::uint64_t>(longest_);
    if (n <= 128)
      std::sort(keys_.begin(), keys_.end());
    else
      sort_by_digits(keys_, sorted_, static_cast<std::uint64_t>(longest_), [&](std::uint64_t key) { return (key >> 32) - top; });
    id_.resize(n);
    deal_.size.resize(n);
    deal_.cost.resize(n);
    deal_.order.resize(n);
    // One loop for each list that is read at random, so that more of its reads are under way at a time.
    for (std::size_t k = 0; k < n; ++k) id_[k] = samples[static_cast<std::uint32_t>(keys_[k])];
    for (std::size_t k = 0; k < n; ++k) deal_.cost[k] = items_.cost[id_[k]];
    std::int64_t squares = 0, all_tokens = 0, most_expensive = 0;
    cost_falls_ = true;
    for (std::size_t k = 0; k < n; ++k) {
      auto const t = deal_.size[k] = static_cast<std::int64_t>(most_tokens - (keys_[k] >> 32)), cost = deal_.cost[k];
      deal_.order[k] = {cost, static_cast<Index>(k)};
      if (k != 0 && cost > deal_.cost[k - 1]) cost_falls_ = false;
      all_tokens += t;
      squares += t * t;
      most_expensive = (std::max)(most_expensive, cost);
    }
    squares_ = squares;
    all_tokens_ = all_tokens;
    most_expensive_ = most_expensive;
    base_ = {};
  }
  /// As the call above, but gives up before improving if the best deal leaves samples without room. Returns whether all have a place.
  [[nodiscard]] bool deal_all(std::span<deal_rule const> rules) {
    deal_by_best(rules, 1);
    if (std::ranges::find(deal_.set_of, nowhere) != deal_.set_of.end()) return false;
    balance_and_pack();
    return left_.empty();
  }
  /// Exchanges samples, with the rank of each as they were gathered, until a rank would not fit its places. Returns whether all have one.
  [[nodiscard]] bool improve(std::span<std::uint32_t const> rank_of) {
    deal_.start();
    for (std::size_t k = 0; k < keys_.size(); ++k) deal_.put(k, rank_of[static_cast<std::uint32_t>(keys_[k])]);
    room_.resize(ranks_ * each_);
    balance_and_pack([&](std::uint32_t r) { return each_ == 1 || fits_into_places(r); });
    return left_.empty();
  }

  [[nodiscard]] std::int64_t slowest() const noexcept { return slowest_; }  ///< cost of the most expensive rank
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }      ///< cost of all ranks
  /// The lengths of the samples that were gathered.
  [[nodiscard]] length_moments lengths() const noexcept {
    return {static_cast<std::uint64_t>(all_tokens_), static_cast<std::uint64_t>(squares_)};
  }
  [[nodiscard]] std::vector<Index> const& left() const noexcept { return left_; }  ///< samples without room, longest first
  /// Samples of one place, longest first.
  [[nodiscard]] std::span<Index const> place(std::size_t rank, std::size_t micro_batch) const noexcept {
    auto const p = rank * each_ + micro_batch;
    return std::span(packed_).subspan(begin_[p], begin_[p + 1] - begin_[p]);
  }

 private:
  static constexpr std::uint32_t nowhere = dealt_sets<Index>::none;
  static constexpr std::uint64_t most_tokens = 0xffffffffU;  ///< of a sample

  /// Tries the rules in turn until one is within `enough` per mille of the step's lower bound, and keeps the best deal.
  void deal_by_best(std::span<deal_rule const> rules, std::int64_t enough) {
    auto const swap_with_best = [&] {
      deal_.set_of.swap(best_rank_);
      deal_.load.swap(best_load_);
      deal_.room.swap(best_room_);
      deal_.count.swap(best_count_);
    };
    for (auto rule : rules) {
      deal_by(rule);
      measure();
      if (rule == rules.front() || compare_products(slowest_, best_total_, best_slowest_, total_) < 0) {
        swap_with_best();
        best_slowest_ = slowest_;
        best_total_ = total_;
      }
      if (best_slowest_ <= near_bound(best_total_, enough)) break;
    }
    swap_with_best();
  }

  void deal_by(deal_rule rule) {
    deal_.start();
    square_.assign(ranks_, 0);
    for (std::size_t p = 0; p < base_.size(); ++p) {
      deal_.room[p / each_] -= base_[p].first;
      deal_.load[p / each_] += base_[p].second;
    }
    std::span<keyed_item<Index> const> const order(deal_.order);
    if (rule == deal_rule::longest_first || order.empty()) return deal_.deal_to_least_loaded(order);
    auto const count = static_cast<std::int64_t>(ranks_);
    auto const square_target = squares_ / count;
    auto const token_target = rule == deal_rule::rate_cap ? room_in_rank_ : (std::min)(room_in_rank_, (all_tokens_ + count - 1) / count);
    auto const beyond = room_in_rank_ - token_target;
    auto const on_put = [&](std::size_t i, std::size_t r) { square_[r] += deal_.size[i] * deal_.size[i]; };
    // A rank is better if more of its share of squares is open per open token. Two such ratios that differ do so by at least the inverse of
    // a product of open tokens: in that unit, whole numbers tell them apart. In a larger one, equal numbers are compared by the products.
    auto const most_square = longest_ <= squares_ / room_in_rank_ ? longest_ * room_in_rank_ : squares_;
    auto const fine = token_target < (std::int64_t{1} << 30) ? token_target * token_target : least_of<>::none;
    auto const unit = (std::min)(fine, (least_of<>::none / 2 - 1) / (std::max)(square_target, most_square));
    auto const open = [&](std::size_t r) { return deal_.room[r] - beyond; };
    auto const number = [&](std::size_t r) {
      return open(r) > 0 ? (square_[r] - square_target) * unit / open(r) : least_of<>::none / 2 - open(r);
    };
    if (unit == fine) return deal_.deal_to_least(order, number, on_put);
    deal_.deal_to_least(order, number, on_put, [&](std::size_t a, std::size_t b) {
      return open(a) > 0 && compare_products(square_target - square_[a], open(b), square_target - square_[b], open(a)) > 0;
    });
  }

  template <class... Accepts>
  void balance_and_pack(Accepts const&... accepts) {
    measure();
    if (auto const enough = near_bound(total_, 1); slowest_ > enough) {
      if (!std::exchange(cost_falls_, true))  // the longest sample need not be the most expensive
        std::sort(deal_.order.begin(), deal_.order.end());
      refine(deal_, enough, {}, accepts...);
      exchange_pairs(deal_, enough, exchanges_, accepts...);
      measure();
    }
    pack();
  }
  void measure() noexcept {
    slowest_ = *std::max_element(deal_.load.begin(), deal_.load.end());
    total_ = std::accumulate(deal_.load.begin(), deal_.load.end(), std::int64_t{0});
  }
  /// The cost of the slowest rank up to which a step counts as balanced: its lower bound plus some thousandths.
  [[nodiscard]] std::int64_t near_bound(std::int64_t total, std::int64_t thousandths) const noexcept {
    auto const bound = (std::max)(total / static_cast<std::int64_t>(ranks_), most_expensive_);
    return bound + bound / 1000 * thousandths;
  }

  /// Whether best-fit decreasing packs the samples of a rank into its places.
  [[nodiscard]] bool fits_into_places(std::uint32_t r) {
    in_rank_.clear();
    for (auto const& sample : deal_.sorted_sets[r]) in_rank_.push_back(sample.item);
    std::sort(in_rank_.begin(), in_rank_.end());
    std::fill_n(room_.begin() + static_cast<std::ptrdiff_t>(r * each_), each_, capacity_);
    return std::ranges::all_of(in_rank_, [&](Index k) { return take_fullest(r, deal_.size[k]) != ranks_ * each_; });
  }
  /// Packs each rank by best-fit decreasing; samples that do not fit go where they raise no maximum, or remain in `left`.
  void pack() {
    room_.assign(ranks_ * each_, capacity_);
    for (std::size_t p = 0; p < base_.size(); ++p) room_[p] -= base_[p].first;
    fit_into_ranks();
    place_misfits();
    measure();
    occupy_empty_places();
    list_places();
  }
  /// Takes that many tokens of room in the fullest place of a rank that has it. Returns that place, or the number of places.
  std::size_t take_fullest(std::size_t r, std::int64_t tokens) {
    auto found = ranks_ * each_;
    for (std::size_t p = r * each_; p < (r + 1) * each_; ++p)
      if (room_[p] >= tokens && (found == ranks_ * each_ || room_[p] < room_[found])) found = p;
    if (found != ranks_ * each_) room_[found] -= tokens;
    return found;
  }
  /// Turns the rank of each sample into its place, which is the same where a rank has one.
  void fit_into_ranks() {
    auto& place_of = deal_.set_of;
    misfits_.clear();
    if (each_ == 1) room_ = deal_.room;
    for (std::size_t k = 0; k < id_.size(); ++k) {
      if (each_ == 1 && place_of[k] != nowhere) continue;
      auto const p = place_of[k] == nowhere ? ranks_ * each_ : take_fullest(place_of[k], deal_.size[k]);
      if (p == ranks_ * each_) {
        misfits_.push_back(static_cast<std::uint32_t>(k));
        if (place_of[k] != nowhere) deal_.load[place_of[k]] -= deal_.cost[k];
        place_of[k] = nowhere;
        continue;
      }
      place_of[k] = static_cast<std::uint32_t>(p);
    }
  }
  /// Each misfit goes to the least loaded rank with room for it, unless that raises the maximum.
  void place_misfits() {
    left_.clear();
    if (misfits_.empty()) return;
    auto& load = deal_.load;
    auto const sooner = [&](std::size_t a, std::size_t b) { return load[a] < load[b]; };
    auto const most_room = [&](std::size_t r) { return *std::ranges::max_element(std::span(room_).subspan(r * each_, each_)); };
    ranks_with_room_.build(ranks_, most_room, sooner);
    for (auto k : misfits_) {  // longest first
      auto const r = ranks_with_room_.find_falling(deal_.size[k], sooner);
      if (r == nowhere || load[r] + deal_.cost[k] > slowest_) {
        left_.push_back(id_[k]);
        continue;
      }
      deal_.set_of[k] = static_cast<std::uint32_t>(take_fullest(r, deal_.size[k]));
      load[r] += deal_.cost[k];
      ranks_with_room_.update(r, most_room(r), sooner);
    }
  }
  void list_places() {
    auto const& place_of = deal_.set_of;
    auto const places = ranks_ * each_;
    begin_.assign(places + 2, 0);
    for (auto p : place_of)
      if (p != nowhere) ++begin_[p + 2];
    for (std::size_t p = 2; p < places + 2; ++p) begin_[p] += begin_[p - 1];
    packed_.resize(begin_[places + 1]);
    for (std::size_t k = 0; k < id_.size(); ++k)
      if (place_of[k] != nowhere) packed_[begin_[place_of[k] + 1]++] = id_[k];
  }
  /// Gives each empty place the shortest sample of its rank that is not alone in its place.
  void occupy_empty_places() {
    auto& place_of = deal_.set_of;
    if (each_ == 1) return;
    begin_.assign(ranks_ * each_, 0);
    for (auto p : place_of)
      if (p != nowhere) ++begin_[p];
    for (std::size_t p = 0; p < base_.size(); ++p)
      if (base_[p].first > 0) ++begin_[p];
    next_.resize(ranks_);  // for each rank: the places before this one are taken
    for (std::size_t r = 0; r < ranks_; ++r) next_[r] = r * each_;
    for (auto k = place_of.size(); k-- > 0;) {  // a sample that is alone in its place now stays alone
      if (place_of[k] == nowhere || begin_[place_of[k]] < 2) continue;
      auto const r = place_of[k] / each_;
      auto& p = next_[r];
      while (p < (r + 1) * each_ && begin_[p] != 0) ++p;
      if (p == (r + 1) * each_) continue;
      --begin_[place_of[k]];
      place_of[k] = static_cast<std::uint32_t>(p);
      ++begin_[p];
    }
  }

  weighed_samples const& items_;
  std::size_t ranks_, each_;
  std::int64_t capacity_, room_in_rank_;
  std::span<std::pair<std::int64_t, std::int64_t> const> base_;
  std::vector<std::uint64_t> keys_, sorted_;  ///< for each sample: tokens below the most, and its place among those gathered
  std::vector<Index> id_, left_, packed_, in_rank_;
  pair_exchange_workspace<Index> exchanges_;
  dealt_sets<Index> deal_;  ///< samples by local index, longest first; `set_of` first is a rank, later a place
  std::vector<std::uint32_t> best_rank_, misfits_;
  std::vector<std::int64_t> square_, best_load_, best_room_, room_;
  std::vector<std::uint64_t> best_count_;
  winner_tree<> ranks_with_room_;
  std::vector<std::size_t> begin_, next_;
  bool cost_falls_ = true;  ///< whether `deal_.order` is sorted by cost
  std::int64_t squares_ = 0, all_tokens_ = 0, longest_ = 0, most_expensive_ = 0;
  std::int64_t slowest_ = 0, total_ = 0, best_slowest_ = 0, best_total_ = 0;
};

}  // namespace ballast::inline v0_2::detail
