// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/detail/windows.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Steps drawn from a random stream of samples, with a pool that brings outliers of like cost together.

namespace ballast::inline v0_2 {

/// @brief How much randomness is given up for balance, and which way. Shares are in thousandths.
struct stream_options {
  /// Share of a step's capacity that is drawn for it. 0 draws all of it, and gives back a tenth at most where that levels the step.
  std::uint32_t fill = 980;
  /// A sample that costs more than this share of a rank's mean step waits in the pool for its like; 0 = no pool.
  std::uint32_t threshold = 350;
  /// The pool holds this many samples per rank before some must go. `whole_epoch` gathers all outliers first, and spreads everything
  /// else evenly over the steps.
  std::uint32_t pool = 4;
  std::uint32_t oldest = 0;  ///< steps that a sample may wait in the pool before it is taken with its neighbours; 0 = no limit
  /// A sample that costs more than this share of a rank's mean step is split over several ranks (context parallelism); 0 = none is.
  std::uint32_t share = 0;
  std::uint32_t share_overhead = 0;     ///< what splitting adds to a sample's cost
  std::uint64_t most_ranks_shared = 0;  ///< most ranks that share a sample, a power of two; 0 = as many as there are
  friend constexpr bool operator==(stream_options const&, stream_options const&) = default;

  static constexpr std::uint32_t whole_epoch = 0xffffffffU;  ///< for `pool`
};

namespace detail {

/// An outlier that waits: what its rank will cost when filled up with ordinary samples, and since when it waits.
template <index_type Index>
struct waiting {
  std::int64_t level = 0;
  Index sample = 0;
  std::uint64_t since = 0;
  friend constexpr bool operator<(waiting const& a, waiting const& b) noexcept {
    return a.level != b.level ? a.level > b.level : a.sample < b.sample;
  }
};

template <index_type Index>
class streamer {
 public:
  streamer(weighed_samples const& items, batching_options const& o, stream_options const& s)
      : items_(items), o_(o), s_(s), dealer_(items, o.ranks, o.micro_batches, o.capacity), ranks_(static_cast<std::size_t>(o.ranks)) {
    auto const count = static_cast<std::int64_t>(o.ranks);
    rank_room_ = room_of_place(items, o) * static_cast<std::int64_t>(o.micro_batches);
    whole_ = s.pool == stream_options::whole_epoch && s.threshold != 0;
    fill_ = s.fill == 0 || all_equal(items) ? 1000 : s.fill;
    auto const part = [](std::int64_t of, std::uint32_t thousandths) { return scale(of, thousandths, 1000); };
    target_ = part(rank_room_ * count, fill_);
    mean_ = scale(part(rank_room_, fill_), items.all_cost, items.all_tokens);
    outlier_ = s.threshold == 0 ? items.most_expensive : part(mean_, s.threshold);
    shared_ = s.share == 0 ? items.most_expensive : part(mean_, s.share);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items.cost[i] <= outlier_) {
        light_cost_ += items.cost[i];
        light_tokens_ += items.tokens[i];
      }
  }

  [[nodiscard]] batching<Index> run() {
    out_.ranks = o_.ranks;
    out_.micro_batches = o_.micro_batches;
    auto const n = items_.size();
    order_ = random_permutation<Index>(n, epoch_seed(o_));
    drawn_.assign(n, 0);
    placed_.assign(n, 0);
    degree_.assign(n, 1);
    out_.packs.members.reserve(n);
    out_.packs.offsets.reserve(n / 4 + 2);
    left_tokens_ = items_.all_tokens;
    if (whole_) gather_outliers();
    while (next_ < order_.size() || !pool_.empty() || !carry_.empty()) {
      draw();
      if (tokens_ < target_ && o_.left_over == left_over::drop && next_ == order_.size()) break;
      if (samples_.empty() && shares_.empty()) continue;
      deal();
      emit_step();
      ++step_;
    }
    for (std::size_t i = 0; i < n; ++i)
      if (placed_[i] == 0) out_.dropped.push_back(static_cast<Index>(i));
    std::sort(out_.repeated.begin(), out_.repeated.end());
    if (fill_places(out_, items_, o_, mixing::allowed) && !whole_) measure_delay();
    auto const sums = pack_sums(out_.packs, [&](Index i) { return charge(i); }, o_.cost_per_micro_batch);
    certify(out_, items_, o_, sums);
    if (whole_ && out_.steps() != 0) spread_steps(sums);
    return std::move(out_);
  }

 private:
  [[nodiscard]] static std::int64_t scale(std::int64_t value, std::int64_t by, std::int64_t over) noexcept {
    return over == 0 ? 0
                     : static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(by),
                                                                    static_cast<std::uint64_t>(over)));
  }
  [[nodiscard]] std::int64_t charge(Index i) const noexcept {
    auto const k = static_cast<std::int64_t>(degree_[i]);
    return k == 1 ? items_.cost[i] : scale(items_.cost[i], 1000 + std::int64_t{s_.share_overhead}, 1000 * k);
  }
  [[nodiscard]] std::int64_t tokens_of(Index i) const noexcept {
    auto const k = static_cast<std::int64_t>(degree_[i]);
    return (items_.tokens[i] + k - 1) / k;
  }
  [[nodiscard]] bool is_outlier(Index i) const noexcept { return s_.threshold != 0 && items_.cost[i] > outlier_ && !is_shared(i); }
  [[nodiscard]] bool is_shared(Index i) const noexcept { return s_.share != 0 && items_.cost[i] > shared_ && ranks_ > 1; }

  [[nodiscard]] waiting<Index> entry_of(Index i) const {
    auto const open = scale(rank_room_, fill_, 1000) - items_.tokens[i];
    return {items_.cost[i] + (open > 0 ? scale(open, light_cost_, light_tokens_) : 0), i, step_};
  }
  void to_pool(Index i) {
    auto const entry = entry_of(i);
    pool_.insert(std::lower_bound(pool_.begin(), pool_.end(), entry), entry);
  }
  /// Gathers the outliers of the epoch, the dearest of them if there are more than one for every place.
  void gather_outliers() {
    for (auto i : order_)
      if (is_outlier(i)) pool_.push_back(entry_of(i));
    std::sort(pool_.begin(), pool_.end());
    auto const steps = static_cast<std::size_t>((items_.all_tokens + target_ - 1) / target_);
    pool_.resize((std::min)(pool_.size(), steps * ranks_ * static_cast<std::size_t>(o_.micro_batches)));
    std::vector<char> waits(items_.size(), 0);
    for (auto const& entry : pool_) waits[entry.sample] = 1;
    order_.erase(std::remove_if(order_.begin(), order_.end(), [&](Index i) { return waits[i] != 0; }), order_.end());
  }

  /// Moves the best run of R neighbours of the pool into the step, if it is time; `runs` of them from the dearest on where it is flushed.
  void release(bool flush, std::size_t runs = 1) {
    if (pool_.empty()) return;
    auto const count = (std::min)(runs * ranks_, pool_.size());
    std::size_t best = 0;
    if (!flush) {
      if (pool_.size() < ranks_) return;
      auto oldest = std::size_t{0};
      for (std::size_t k = 1; k < pool_.size(); ++k)
        if (pool_[k].since < pool_[oldest].since) oldest = k;
      auto const forced = s_.oldest != 0 && step_ - pool_[oldest].since > s_.oldest;
      std::int64_t sum = 0, best_sum = 0;
      for (std::size_t k = 0; k < pool_.size(); ++k) {
        sum += pool_[k].level;
        if (k + 1 < ranks_) continue;
        auto const first = k + 1 - ranks_;
        if ((!forced || (first <= oldest && oldest <= k)) &&
            (best_sum == 0 || compare_products(pool_[first].level, best_sum, pool_[best].level, sum) < 0)) {
          best = first;
          best_sum = sum;
        }
        sum -= pool_[first].level;
      }
      auto const spread = pool_[best].level - best_sum / static_cast<std::int64_t>(ranks_);  // of the dearest over the mean
      if (!forced && spread > best_sum / static_cast<std::int64_t>(ranks_) / 50 && pool_.size() <= std::size_t{s_.pool} * ranks_) return;
    }
    for (std::size_t k = best; k < best + count; ++k) take(pool_[k].sample);
    pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(best), pool_.begin() + static_cast<std::ptrdiff_t>(best + count));
  }
  /// Ranks whose outlier leaves room in tokens and in time beside the dearest of the step get another one from the pool, the dearest that
  /// fits: they would wait otherwise, and the steps to come have one less.
  void second_outliers(std::int64_t goal) {
    if (samples_.empty() || samples_.size() > ranks_) return;
    std::int64_t dearest = 0;
    for (auto i : samples_) dearest = (std::max)(dearest, items_.cost[i]);
    for (auto k = samples_.size(); k-- > 0 && tokens_ < goal;) {
      auto room = rank_room_ - items_.tokens[samples_[k]], open = dearest - items_.cost[samples_[k]];
      auto const fits = [&](waiting<Index> const& w) {
        return w.level >= 0 && items_.tokens[w.sample] <= room && items_.cost[w.sample] <= open;
      };
      auto const first = std::partition_point(pool_.begin(), pool_.end(), [&](auto const& w) { return items_.tokens[w.sample] > room; });
      auto const it = std::find_if(first, pool_.end(), fits);
      if (it == pool_.end()) continue;
      take(it->sample);
      it->level = -1;  // gone: erased below, all at once
    }
    std::erase_if(pool_, [](auto const& w) { return w.level < 0; });
  }
  void take(Index i) {
    if (is_shared(i)) {
      shares_.push_back(i);
    } else {
      samples_.push_back(i);
    }
    tokens_ += items_.tokens[i];
  }

  void draw() {
    samples_.clear();
    shares_.clear();
    tokens_ = 0;
    own_ = items_.size();
    for (auto i : carry_) take(i);
    carry_.clear();
    auto const exhausted = next_ == order_.size();
    auto const even = o_.left_over == left_over::split || o_.left_over == left_over::shorten;
    auto const steps = (std::max)((left_tokens_ + target_ - 1) / target_, std::int64_t{1});
    auto const goal = even ? (left_tokens_ + steps - 1) / steps : target_;  // all remaining steps get the same share of what is left
    auto const a_step = ranks_ * static_cast<std::size_t>(steps);
    release(whole_ || exhausted, whole_ ? (pool_.size() + a_step - 1) / a_step : 1);
    if (whole_ && !exhausted) second_outliers(goal);
    auto const places = ranks_ * static_cast<std::size_t>(o_.micro_batches);
    auto const all_room = rank_room_ * static_cast<std::int64_t>(ranks_);
    auto const wanted = [&] {  // a few long samples more where there would be empty places
      return tokens_ < goal || (samples_.size() < places && shares_.empty() && tokens_ + items_.tokens[order_[next_]] <= all_room);
    };
    while (next_ < order_.size() && wanted()) {
      auto const i = order_[next_++];
      drawn_[i] = step_;
      if (!whole_ && is_outlier(i))
        to_pool(i);
      else
        take(i);
    }
    if (o_.left_over != left_over::repeat || next_ < order_.size()) return;
    if (!pool_.empty() && !exhausted) release(true);  // the end has come in the middle of this step
    own_ = samples_.size();
    for (std::size_t tried = 0; tokens_ < goal && tried < order_.size(); ++tried) {
      auto const i = order_[again_++ % order_.size()];
      if (placed_[i] == 0 || is_outlier(i) || is_shared(i)) continue;
      samples_.push_back(i);
      tokens_ += items_.tokens[i];
    }
  }

  void deal() {
    place_shared();
    // Where squares fit, matching rates levels every linear + quadratic cost at once; else longest first comes nearest to the bound.
    static constexpr std::array near{deal_rule::rate_mean, deal_rule::longest_first};
    static constexpr std::array far{deal_rule::longest_first, deal_rule::rate_cap};
    auto const rules = squares_fit(items_, rank_room_) ? std::span<deal_rule const>(near) : std::span<deal_rule const>(far);
    dealer_(samples_, rules, 2, base_);
    auto const& left = dealer_.left();
    if (own_ < samples_.size() && std::any_of(left.begin(), left.end(), [&](Index i) { return placed_[i] == 0; })) {
      samples_.resize(own_);  // what is repeated must not keep out what has not come yet
      dealer_(samples_, rules, 2, base_);
    }
    if (s_.fill != 0) return;
    auto const least = shares_.empty() ? ranks_ * static_cast<std::size_t>(o_.micro_batches) : 1;
    for (std::int64_t part : {970, 940, 910}) {  // a step that is not level gives back what was drawn last
      auto const mean = dealer_.total() / static_cast<std::int64_t>(ranks_);
      if (dealer_.slowest() - mean <= mean / 100 || next_ == order_.size()) return;
      auto const keep = scale(rank_room_ * static_cast<std::int64_t>(ranks_), part, 1000);
      while (samples_.size() > (std::max)(least, std::size_t{1}) && tokens_ > keep) {
        carry_.push_back(samples_.back());
        tokens_ -= items_.tokens[samples_.back()];
        samples_.pop_back();
      }
      dealer_(samples_, rules, 2, base_);
    }
  }
  /// Puts each shared sample on the aligned ranks whose largest load is least and that have room for it.
  void place_shared() {
    base_.clear();
    first_rank_.clear();
    if (shares_.empty()) return;
    base_.assign(ranks_, {0, 0});
    std::sort(shares_.begin(), shares_.end(),
              [&](Index a, Index b) { return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : a < b; });
    std::size_t kept = 0;
    auto const most = s_.most_ranks_shared == 0 ? ranks_ : (std::min)(ranks_, static_cast<std::size_t>(s_.most_ranks_shared));
    for (auto i : shares_) {
      degree_[i] = 2;
      while (2 * std::size_t{degree_[i]} <= most && charge(i) > shared_) degree_[i] *= 2;
      auto const k = std::size_t{degree_[i]};
      auto best = ranks_;
      std::int64_t best_load = 0;
      for (std::size_t first = 0; first + k <= ranks_; first += k) {
        std::int64_t load = 0, full = 0;
        for (auto r = first; r < first + k; ++r) {
          full = (std::max)(full, base_[r].first);
          load = (std::max)(load, base_[r].second);
        }
        if (full + tokens_of(i) <= o_.capacity && (best == ranks_ || load < best_load)) {
          best = first;
          best_load = load;
        }
      }
      if (best == ranks_) {
        degree_[i] = 1;
        carry_.push_back(i);
        continue;
      }
      for (auto r = best; r < best + k; ++r) {
        base_[r].first += tokens_of(i);
        base_[r].second += charge(i);
      }
      shares_[kept++] = i;
      first_rank_.push_back(best);
    }
    shares_.resize(kept);
  }

  void emit_step() {
    auto const note = [&](Index i) {
      if (placed_[i]++ != 0) {
        out_.repeated.push_back(i);
        return;
      }
      left_tokens_ -= items_.tokens[i];
      if (whole_) return;
      out_.token_delay += items_.tokens[i] * static_cast<std::int64_t>(step_ - drawn_[i]);
      out_.longest_delay = (std::max)(out_.longest_delay, step_ - drawn_[i]);
    };
    for (std::size_t j = 0; j < shares_.size(); ++j) {
      note(shares_[j]);
      out_.shared.push_back({shares_[j], step_, first_rank_[j], degree_[shares_[j]]});
    }
    for (std::size_t r = 0; r < ranks_; ++r)
      for (std::size_t m = 0; m < o_.micro_batches; ++m) {
        pack_.clear();
        if (m == 0)
          for (std::size_t j = 0; j < shares_.size(); ++j)
            if (first_rank_[j] <= r && r < first_rank_[j] + degree_[shares_[j]]) pack_.push_back(shares_[j]);
        for (auto i : dealer_.place(r, m)) {
          note(i);
          pack_.push_back(i);
        }
        out_.table.push_back(pack_.empty() ? out_.none : static_cast<Index>(out_.packs.size()));
        if (!pack_.empty()) out_.packs.push_back(pack_);
      }
    for (auto i : dealer_.left())
      if (placed_[i] == 0) carry_.push_back(i);  // a repeated one is in no hurry
  }

  /// Delays of a table that was changed afterwards.
  void measure_delay() {
    out_.token_delay = 0;
    out_.longest_delay = 0;
    std::vector<char> seen(items_.size(), 0);
    for (std::size_t s = 0; s < out_.steps(); ++s)
      for (auto const pack : out_.packs_of(s))
        for (auto i : pack) {
          if (std::exchange(seen[i], char{1}) != 0 || s <= drawn_[i]) continue;
          out_.token_delay += items_.tokens[i] * static_cast<std::int64_t>(s - drawn_[i]);
          out_.longest_delay = (std::max)(out_.longest_delay, s - drawn_[i]);
        }
  }

  /// Brings the steps of a whole epoch, which came dearest first, into an order that mixes.
  void spread_steps(std::vector<pack_sum> const& sums) {
    auto const places = ranks_ * static_cast<std::size_t>(o_.micro_batches);
    auto const last = out_.step(out_.steps() - 1);
    auto const stays = std::find(last.begin(), last.end(), out_.none) != last.end() ? std::size_t{1} : std::size_t{0};
    std::vector<std::pair<std::int64_t, std::size_t>> cost(out_.steps() - stays);
    for (std::size_t s = 0; s < cost.size(); ++s) {
      cost[s] = {0, s};
      for (auto p : out_.step(s))
        if (p != out_.none) cost[s].first -= sums[p].cost;
    }
    std::sort(cost.begin(), cost.end());
    splitmix64 generator(~epoch_seed(o_));
    std::vector<Index> table;
    table.reserve(out_.table.size());
    std::vector<std::uint64_t> now(out_.steps());
    now.back() = now.size() - 1;
    for (auto k : emit<Index>(cost.size(), emission::cyclic, generator)) {
      auto const from = cost[k].second;
      now[from] = table.size() / places;
      auto const step = out_.step(from);
      table.insert(table.end(), step.begin(), step.end());
    }
    if (stays != 0) table.insert(table.end(), last.begin(), last.end());
    out_.table = std::move(table);
    for (auto& s : out_.shared) s.step = now[s.step];
    std::sort(out_.shared.begin(), out_.shared.end(),
              [](auto const& a, auto const& b) { return a.step != b.step ? a.step < b.step : a.sample < b.sample; });
  }

  weighed_samples const& items_;
  batching_options const& o_;
  stream_options const& s_;
  step_dealer<Index> dealer_;
  std::size_t ranks_;
  std::int64_t rank_room_ = 0, target_ = 0, mean_ = 0, outlier_ = 0, shared_ = 0, light_cost_ = 0, light_tokens_ = 0;
  std::int64_t left_tokens_ = 0, tokens_ = 0;
  std::uint32_t fill_ = 1000;
  bool whole_ = false;
  batching<Index> out_;
  std::vector<Index> order_, carry_, samples_, shares_, pack_;
  std::vector<waiting<Index>> pool_;
  std::vector<std::uint64_t> drawn_;
  std::vector<std::uint32_t> placed_, degree_;
  std::vector<std::size_t> first_rank_;
  std::vector<std::pair<std::int64_t, std::int64_t>> base_;
  std::size_t next_ = 0, again_ = 0;
  std::size_t own_ = 0;  ///< samples of the step that come for the first time stand in front of those that are repeated
  std::uint64_t step_ = 0;
};
}  // namespace detail

/// @brief Draws steps from a random order of the samples and deals each of them to ranks first, to micro-batches then.
///
/// A step is a random draw, so nothing that training counts on is lost; where single samples cost so much that no random step can be level
/// (`critical_ratios::cost` above 0.9), such samples wait in a small pool until there is one of like cost for every rank, or are split over
/// several ranks. Inside a step, samples are dealt by rate matching or longest processing time, whichever levels it better, and exchanged.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity
/// @param options  shape of a step, seed, and `left_over`: `drop` leaves out the steps that the end of the stream cannot fill, `repeat`
/// fills
///                 them with samples of earlier steps, the others keep them as they are
/// @param cost     what a sample costs
/// @param stream   fill, pool and splitting
/// @return the plan, its cost and the bound; no place is empty but of the last step, where samples are too few
/// @throws invalid_input for a bad option, length or cost
/// @par Complexity
/// O(samples log ranks) time for each deal that is tried (one to three a step, up to twelve with `fill = 0`), and a bounded number of
/// exchanges per step; O(samples) memory.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> stream_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                           stream_options const& stream = {}) {
  return stream_steps<Index>(weigh(lengths, options, cost), options, stream);
}

/// @brief As above, of samples weighed before.
/// @tparam Index  type of the sample indices
/// @param samples  from `weigh`
/// @param options  as above
/// @param stream   as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
/// @par Complexity
/// As above.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t>
[[nodiscard]] batching<Index> stream_steps(weighed_samples const& samples, batching_options const& options,
                                           stream_options const& stream = {}) {
  require(stream.fill <= 1000, [&] { return "fill = " + std::to_string(stream.fill) + " must be at most 1000"; });
  auto const most = stream.most_ranks_shared;
  require((most & (most - 1)) == 0 && most != 1,
          [&] { return "most_ranks_shared = " + std::to_string(most) + " must be a power of two above 1, or 0"; });
  detail::require_fit<Index>(samples, options);
  return detail::streamer<Index>(samples, options, stream).run();
}

}  // namespace ballast::inline v0_2
