// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/detail/stream_parts.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The token-mean lengths of steps of these samples.
[[nodiscard]] inline token_means<std::vector<std::int64_t>> token_means_of(weighed_samples const& items) {
  return {items.tokens, items.size(), static_cast<std::uint64_t>(items.all_tokens), static_cast<std::uint64_t>(items.all_squares)};
}

/// Puts the steps of an epoch, given most expensive first, into a mixed order; an incomplete last step stays last.
template <index_type Index>
void spread_steps(batching<Index>& plan, std::vector<pack_sum> const& sums, batching_options const& o) {
  auto const places = static_cast<std::size_t>(plan.ranks * plan.micro_batches);
  auto const last = plan.step(plan.steps() - 1);
  auto const stays = std::find(last.begin(), last.end(), plan.none) != last.end() ? std::size_t{1} : std::size_t{0};
  std::vector<keyed_item<Index>> cost(plan.steps() - stays);
  for (std::size_t s = 0; s < cost.size(); ++s) {
    cost[s] = {0, static_cast<Index>(s)};
    for (auto p : plan.step(s))
      if (p != plan.none) cost[s].key += sums[p].cost;
  }
  std::sort(cost.begin(), cost.end());
  splitmix64 generator(~epoch_seed(o));
  std::vector<Index> table;
  table.reserve(plan.table.size());
  std::vector<std::uint64_t> now(plan.steps());
  now.back() = now.size() - 1;
  for (auto k : emit<Index>(cost.size(), emission::cyclic, generator)) {
    auto const from = std::size_t{cost[k].item};
    now[from] = table.size() / places;
    auto const step = plan.step(from);
    table.insert(table.end(), step.begin(), step.end());
  }
  if (stays != 0) table.insert(table.end(), last.begin(), last.end());
  plan.table = std::move(table);
  for (auto& s : plan.shared) s.step = now[s.step];
  std::ranges::sort(plan.shared, {}, [](auto const& s) { return std::pair(s.step, s.sample); });
}

/// The samples of an epoch, numbered by its random order, so that those of a step are neighbours in memory.
template <index_type Index>
struct stream_draw {
  stream_draw(weighed_samples const& given, batching_options const& o)
      : name(random_permutation<Index>(given.size(), epoch_seed(o))),
        items(some_of<Index>(given, name)),
        costs(items.cost, name),
        dealer(items, o.ranks, o.micro_batches, o.capacity) {}
  stream_draw(stream_draw const&) = delete;  // the dealer refers to the samples
  std::vector<Index> name;                   ///< the number of each sample among those given
  weighed_samples items;
  falling_values<Index> costs;
  step_dealer<Index> dealer;  ///< of these samples; what both keep serves all ways to stream
};

/// Makes steps from a random order of the samples: draws the samples of a step, distributes them over ranks and writes the step, then the
/// next step. Until all steps are written, samples are numbered by that order.
template <index_type Index>
class streamer {
 public:
  streamer(weighed_samples const& given, stream_draw<Index>& drawn, batching_options const& o, stream_options const& s)
      : given_(given),
        name_(drawn.name),
        items_(drawn.items),
        o_(o),
        s_(s),
        limits_(items_, o, s),
        dealer_(drawn.dealer),
        order_(given.size()),
        pool_(items_, o, limits_, drawn.costs, order_),
        placer_(items_, o, s, limits_, name_),
        places_(static_cast<std::size_t>(o.ranks * o.micro_batches)) {}
  streamer(streamer const&) = delete;  // its parts refer to its limits
  streamer& operator=(streamer const&) = delete;

  /// @param most_waiting  an empty plan is returned if the slowest ranks take more above the mean before half of the tokens have a step
  [[nodiscard]] batching<Index> run(std::int64_t most_waiting = any_time) {
    out_.ranks = o_.ranks;
    out_.micro_batches = o_.micro_batches;
    auto const n = items_.size();
    if (!limits_.pools) drawn_.assign(n, 0);
    placed_.assign(n, 0);
    out_.packs.members.reserve(n);
    out_.packs.offsets.reserve(n / 4 + 2);
    left_tokens_ = items_.all_tokens;
    while (next_ < order_.size() || pool_.size() != 0 || !carry_.empty()) {
      draw();
      if (tokens_ < limits_.target && o_.left_over == left_over::drop && next_ == order_.size()) break;
      if (samples_.empty() && shares_.empty()) continue;
      placer_.place(shares_, carry_);
      deal();
      write_step();
      ++step_;
      most_waiting -= dealer_.slowest() - divide_up(dealer_.total(), static_cast<std::int64_t>(limits_.ranks));
      if (most_waiting < 0 && left_tokens_ > items_.all_tokens / 2) return {};
    }
    for (std::size_t i = 0; i < n; ++i)
      if (placed_[i] == 0) out_.dropped.push_back(static_cast<Index>(i));
    auto const sum_up = [&](weighed_samples const& of) {
      return pack_sums(out_.packs, [&](Index i) { return placer_.charge(i, of.cost[i]); }, o_.cost_per_micro_batch);
    };
    auto sums = sum_up(items_);  // before they are named, as members are neighbours in memory
    deviation_ = token_means_of(items_).variance(std::span<length_moments const>(lengths_), 1);
    name_samples();
    if (fill_places(out_, given_, o_, mixing::allowed)) {
      deviation_ = token_means_of(given_).variance(out_, 1);
      sums = sum_up(given_);
      if (!limits_.pools) measure_delay();
    }
    certify(out_, given_, o_, sums);
    if (limits_.pools && out_.steps() != 0) spread_steps(out_, sums, o_);
    return std::move(out_);
  }
  [[nodiscard]] std::vector<Index> const& gathered() const noexcept { return pool_.samples(); }
  [[nodiscard]] std::uint64_t deviation() const noexcept { return deviation_; }  ///< variance of the token-mean length over the steps

 private:
  void take(Index i) {
    (limits_.is_shared(i) ? shares_ : samples_).push_back(i);
    tokens_ += items_.tokens[i];
  }
  [[nodiscard]] bool drawn_all() const noexcept { return next_ == order_.size(); }

  /// The samples of the next step: those without room in earlier steps, outliers, and the next samples of the order.
  void draw() {
    samples_.clear();
    shares_.clear();
    tokens_ = 0;
    fresh_ = items_.size();
    for (auto i : carry_) take(i);
    carry_.clear();
    auto const exhausted = drawn_all();
    auto const even = o_.left_over == left_over::split || o_.left_over == left_over::shorten;
    auto const steps = (std::max)(divide_up(left_tokens_, limits_.target), std::int64_t{1});
    auto const goal = even ? divide_up(left_tokens_, steps) : limits_.target;  // the same share for all remaining steps
    auto const taking = [&](Index i) { take(i); };
    if (tokens_ / 16 < goal) pool_.flush(divide_up(pool_.size(), limits_.ranks * static_cast<std::size_t>(steps)), taking);
    if (limits_.pools && !exhausted) pool_.give_second(samples_, [&] { return tokens_ < goal; }, taking);
    draw_from_order(goal);
    if (o_.left_over != left_over::repeat || !drawn_all()) return;
    if (!exhausted) pool_.flush(1, taking);  // the order has ended in the middle of this step
    fresh_ = samples_.size();
    repeat(goal);
  }
  void draw_from_order(std::int64_t goal) {
    auto const all_room = limits_.rank_room * static_cast<std::int64_t>(limits_.ranks);
    auto const wanted = [&] {  // whether to draw on: the goal is not reached, or places would stay empty
      return tokens_ < goal || (samples_.size() < places_ && shares_.empty() && tokens_ + items_.tokens[order_[next_]] <= all_room);
    };
    while (!drawn_all() && wanted()) {
      auto const i = order_[next_++];
      if (!limits_.pools) drawn_[i] = step_;
      take(i);
    }
  }
  /// Fills the step with ordinary samples of earlier steps.
  void repeat(std::int64_t goal) {
    for (std::size_t tried = 0; tokens_ < goal && tried < order_.size(); ++tried) {
      auto const i = order_[again_++ % order_.size()];
      if (placed_[i] == 0 || limits_.is_outlier(i) || limits_.is_shared(i)) continue;
      samples_.push_back(i);
      tokens_ += items_.tokens[i];
    }
  }

  void deal() {
    // If squares fit, rate matching balances every linear + quadratic cost at once; otherwise longest first comes nearest to the bound.
    static constexpr std::array near{deal_rule::rate_mean, deal_rule::longest_first};
    static constexpr std::array far{deal_rule::longest_first, deal_rule::rate_cap};
    auto const rules = squares_fit(items_, limits_.rank_room) ? std::span<deal_rule const>(near) : std::span<deal_rule const>(far);
    dealer_(samples_, rules, 2, placer_.base());
    auto const& left = dealer_.left();
    if (fresh_ < samples_.size() && std::any_of(left.begin(), left.end(), [&](Index i) { return placed_[i] == 0; })) {
      samples_.resize(fresh_);  // repeated samples must not displace samples that have not been trained on
      dealer_(samples_, rules, 2, placer_.base());
    }
    if (s_.tuning.fill != 0) return;
    auto const least = shares_.empty() ? places_ : 1;
    for (std::int64_t part : {970, 940, 910}) {  // a step that is not balanced returns the samples drawn last
      auto const mean = dealer_.total() / static_cast<std::int64_t>(limits_.ranks);
      if (dealer_.slowest() - mean <= mean / 100 || drawn_all()) return;
      auto const keep = scale(limits_.rank_room * static_cast<std::int64_t>(limits_.ranks), part, 1000);
      while (samples_.size() > (std::max)(least, std::size_t{1}) && tokens_ > keep) {
        carry_.push_back(samples_.back());
        tokens_ -= items_.tokens[samples_.back()];
        samples_.pop_back();
      }
      dealer_(samples_, rules, 2, placer_.base());
    }
  }

  void write_step() {
    for (std::size_t j = 0; j < shares_.size(); ++j) {
      note(shares_[j]);
      out_.shared.push_back({shares_[j], step_, placer_.first_rank(j), placer_.degree(shares_[j])});
    }
    for (std::size_t r = 0; r < limits_.ranks; ++r)
      for (std::size_t m = 0; m < o_.micro_batches; ++m) {
        auto pack = dealer_.place(r, m);
        for (auto i : pack) note(i);
        if (!shares_.empty()) {
          pack_.clear();
          for (std::size_t j = 0; j < shares_.size(); ++j)
            if (placer_.micro_batch(j) == m && placer_.first_rank(j) <= r && r < placer_.first_rank(j) + placer_.degree(shares_[j]))
              pack_.push_back(shares_[j]);
          pack_.insert(pack_.end(), pack.begin(), pack.end());
          pack = pack_;
        }
        out_.table.push_back(pack.empty() ? out_.none : static_cast<Index>(out_.packs.size()));
        if (!pack.empty()) out_.packs.push_back(pack);
      }
    auto& lengths = lengths_.emplace_back(dealer_.lengths());
    for (auto const i : shares_) lengths.add(static_cast<std::uint64_t>(items_.tokens[i]), placer_.degree(i));
    for (auto const i : dealer_.left()) {
      lengths.add(static_cast<std::uint64_t>(items_.tokens[i]), ~std::uint64_t{0});
      if (placed_[i] == 0) carry_.push_back(i);  // repeated samples need not be placed
    }
  }
  /// Gives the samples back their numbers.
  void name_samples() {
    for (auto* list : {&out_.packs.members, &out_.dropped, &out_.repeated})
      for (auto& i : *list) i = name_[i];
    std::sort(out_.dropped.begin(), out_.dropped.end());
    std::sort(out_.repeated.begin(), out_.repeated.end());
    for (auto& shared : out_.shared) shared.sample = name_[shared.sample];
    placer_.name_samples();
    auto const drawn = drawn_;
    for (std::size_t k = 0; k < drawn.size(); ++k) drawn_[name_[k]] = drawn[k];
  }
  /// Records that a sample is in this step.
  void note(Index i) {
    if (placed_[i]++ != 0) {
      out_.repeated.push_back(i);
      return;
    }
    left_tokens_ -= items_.tokens[i];
    if (!limits_.pools) count_delay(items_, i, step_);
  }
  void count_delay(weighed_samples const& items, Index i, std::uint64_t step) {
    if (step <= drawn_[i]) return;
    out_.token_delay += items.tokens[i] * static_cast<std::int64_t>(step - drawn_[i]);
    out_.longest_delay = (std::max)(out_.longest_delay, step - drawn_[i]);
  }
  /// Computes delays after the table was changed.
  void measure_delay() {
    out_.token_delay = 0;
    out_.longest_delay = 0;
    std::vector<char> seen(items_.size(), 0);
    for (std::size_t s = 0; s < out_.steps(); ++s)
      for (auto const pack : out_.packs_of(s))
        for (auto i : pack)
          if (std::exchange(seen[i], char{1}) == 0) count_delay(given_, i, s);
  }

  weighed_samples const& given_;
  std::vector<Index> const& name_;  ///< the number of each sample among those given
  weighed_samples const& items_;    ///< in random order
  batching_options const& o_;
  stream_options const& s_;
  stream_limits limits_;
  step_dealer<Index>& dealer_;
  std::vector<Index> order_;  ///< the order in which samples are drawn: all but outliers; `next_` is the first that was not drawn yet
  outlier_pool<Index> pool_;
  share_placer<Index> placer_;
  std::size_t places_;
  batching<Index> out_;
  std::size_t next_ = 0, again_ = 0;
  std::vector<Index> carry_;             ///< samples drawn for an earlier step that go into the next step
  std::vector<Index> samples_, shares_;  ///< samples of the current step; shared samples of it
  std::size_t fresh_ = 0;                ///< number of samples that are not repeated; they come first in `samples_`
  std::int64_t tokens_ = 0;              ///< tokens of the current step
  std::int64_t left_tokens_ = 0;         ///< tokens of samples that are in no step yet
  std::uint64_t step_ = 0, deviation_ = 0;
  std::vector<Index> pack_;
  std::vector<length_moments> lengths_;  ///< of each step
  std::vector<std::uint64_t> drawn_;     ///< for each sample: the step that it was drawn for; empty if outliers are gathered
  std::vector<std::uint32_t> placed_;    ///< for each sample: number of its places
};

/// The plan of one way to stream samples.
template <index_type Index>
[[nodiscard]] batching<Index> stream(weighed_samples const& items, batching_options const& o, stream_options const& s) {
  stream_draw<Index> drawn(items, o);
  return streamer<Index>(items, drawn, o, s).run();
}

}  // namespace ballast::inline v0_2::detail
