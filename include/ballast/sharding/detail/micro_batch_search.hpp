// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

// Which samples form the micro-batches of a batch in lockstep: several counts and ways to deal, each planned as groups; the best is kept.

namespace ballast::inline v0_2::detail {

using micro_batch_positions = std::vector<std::vector<std::size_t>>;  // of each micro-batch, ascending: samples in descending length

class micro_batch_search {
 public:
  explicit micro_batch_search(degree_times const& t)
      : t_(&t), planner_(t), tokens_(std::accumulate(t.length.begin(), t.length.end(), std::int64_t{0})) {
    for (std::size_t i = 0; i < t.length.size(); ++i) {
      auto const level = t.cheapest(i, degree_times::most);
      work_.push_back(level < t.levels ? t.area(i, level) : 0);
    }
  }

  micro_batch_positions best;
  std::vector<group_fit> fits;             // of each micro-batch of the best
  std::int64_t time = degree_times::most;  // of the best
  bool rest_at_once = false;               // whether rounds may end with all that is left in one micro-batch

  /// Tries every way to deal into as few micro-batches as have room, and more, until `counts` numbers of each have room.
  void run(std::size_t counts) {
    auto const n = t_->length.size();
    auto const fewest = static_cast<std::size_t>(divide_up(tokens_, room()));
    constexpr int shares[] = {2, 5, 10, 20, 40};
    for (int way = 0; way < 2 + static_cast<int>(std::size(shares)); ++way) {
      // A sorted cut leaves long samples together and fails at small counts, so more of them are tried.
      auto const wanted = way == 0 ? counts + 2 : counts;
      std::size_t found = 0;
      for (auto count = (std::max)(fewest, std::size_t{1}); count < fewest + 4 * wanted && count <= n && found < wanted; ++count) {
        if (way > 1 && count == 1) continue;
        if (attempt(way == 0 ? sorted_cut(count) : way == 1 ? snake(count) : longest_apart(count, shares[way - 2]))) ++found;
      }
    }
  }

  /// `run_rounds` until they take `limit` or more, for a small batch with several slacks.
  void run_all_rounds(std::int64_t limit) {
    constexpr std::uint64_t few = 16'384;  // pairs of a sample and a rank
    for (auto const slack : {1000, 20, 5})
      if (slack == 1000 || t_->length.size() <= few / t_->options.ranks) run_rounds((std::min)(limit, time), slack);
  }
  /// Forms micro-batches one after the other, until they take `limit` or more: the longest sample that is left, and others beside it and in
  /// its pass, within the time of the longest and a part of it, 1 / `slack`. Of the numbers of ranks for the longest one, that is taken
  /// with which the ranks do most work in the time.
  void run_rounds(std::int64_t limit, std::int64_t slack) {
    micro_batch_positions batches;
    std::vector<group_fit> plans;
    std::int64_t sum = 0;
    auto left = all_positions(*t_);
    auto tokens = tokens_;
    while (!left.empty() && sum < limit) {
      if (rest_at_once && tokens <= room() && planner_.bound(left) < limit - sum)
        if (auto const& rest = planner_.plan(left); rest.time < limit - sum) {
          limit = time = sum + rest.time;
          best = batches;
          best.push_back(left);
          fits = plans;
          fits.push_back(rest);
        }
      if (!best_round(left, slack)) return;
      batches.emplace_back();
      for (auto const j : best_taken_) {
        batches.back().push_back(left[j]);
        tokens -= t_->length[left[j]];
      }
      for (std::size_t k = best_taken_.size(); k-- > 0;) left[best_taken_[k]] = t_->length.size();
      std::erase(left, t_->length.size());
      plans.push_back(best_fit_);
      sum += best_fit_.time;
    }
    if (sum >= limit) return;
    time = sum;
    best = std::move(batches);
    fits = std::move(plans);
  }

 private:
  /// The samples and groups of the next micro-batch of `run_rounds`. Returns false if it finds none.
  bool best_round(std::vector<std::size_t> const& left, std::int64_t slack) {
    best_fit_.time = degree_times::most;
    std::int64_t most_work = 0;
    auto quickest = degree_times::most;
    for (std::size_t l = 0; l < t_->levels; ++l) {
      if (!t_->allows(left[0], l) || t_->at(left[0], l) >= quickest - quickest / 16) continue;
      quickest = t_->at(left[0], l);
      auto const work = fill_round(left, l, quickest + quickest / slack);
      planner_.reshape(placed_, fit_);
      if (fit_.time == degree_times::most) continue;
      if (best_fit_.time < degree_times::most && compare_products(work, best_fit_.time, most_work, fit_.time) <= 0) continue;
      most_work = work;
      std::swap(fit_, best_fit_);
      std::swap(taken_, best_taken_);
    }
    return best_fit_.time < degree_times::most;
  }
  /// The longest of the samples on a group of its own, then each to the first group with room and time, of the level where it takes
  /// least rank-time or a wider one, or to a new one. Returns the work of those with a place.
  std::int64_t fill_round(std::vector<std::size_t> const& left, std::size_t level, std::int64_t within) {
    fit_.clear(0);
    taken_.clear();
    placed_.clear();
    open_.resize(t_->levels);
    for (auto& groups : open_) groups.clear();
    std::int64_t work = 0;
    std::uint64_t ranks = 0;
    std::size_t unfilled = 0;
    auto const shortest = left.back();
    for (std::size_t j = 0; j < left.size() && (ranks < t_->options.ranks || unfilled > 0); ++j) {
      auto const i = left[j];
      auto g = fit_.groups.size();
      for (auto l = j == 0 ? level : t_->cheapest(i, within); l < t_->levels && g == fit_.groups.size(); ++l) {
        if (t_->at(i, l) > within || !t_->allows(i, l)) continue;
        for (auto const k : open_[l])
          if (fit_.groups[k].tokens + t_->length[i] <= t_->room(l) && fit_.groups[k].time + t_->at(i, l) <= within) {
            g = k;
            break;
          }
        if (g < fit_.groups.size()) break;
        if (ranks + static_cast<std::uint64_t>(t_->width[l]) > t_->options.ranks) continue;
        ranks += static_cast<std::uint64_t>(t_->width[l]);
        open_[l].push_back(g);
        fit_.groups.push_back({l, 0, 0});
        ++unfilled;
        break;
      }
      if (g == fit_.groups.size()) continue;
      auto& into = fit_.groups[g];
      into.tokens += t_->length[i];
      into.time += t_->at(i, into.level);
      if (into.tokens + t_->length[shortest] > t_->room(into.level) || into.time + t_->at(shortest, into.level) > within) {
        std::erase(open_[into.level], g);
        --unfilled;
      }
      fit_.group_of.push_back(g);
      taken_.push_back(j);
      placed_.push_back(i);
      work += work_[i];
    }
    return work;
  }

  [[nodiscard]] std::int64_t room() const { return t_->options.capacity * static_cast<std::int64_t>(t_->options.ranks); }

  /// Plans the groups of each micro-batch; keeps them if they take less than the best. Returns whether all have groups, or cannot be best.
  bool attempt(micro_batch_positions batches) {
    std::vector<std::int64_t> bounds;
    std::int64_t sum = 0;
    std::erase_if(batches, [](auto const& b) { return b.empty(); });
    for (auto const& b : batches) {
      std::int64_t held = 0;
      for (auto const i : b) held += t_->length[i];
      if (held > room()) return false;
      auto const bound = planner_.bound(b);
      if (bound >= degree_times::most) return false;
      sum += bounds.emplace_back(bound);
      if (sum >= time) return true;
    }
    std::vector<group_fit> plans;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      auto const& fit = planner_.plan(batches[b]);
      if (fit.time == degree_times::most) return false;
      sum += fit.time - bounds[b];
      if (sum >= time) return true;
      plans.push_back(fit);
    }
    time = sum;
    best = std::move(batches);
    fits = std::move(plans);
    return true;
  }

  /// Neighbours in length, the most tokens of a micro-batch least (the micro-batches of FlexSP).
  [[nodiscard]] micro_batch_positions sorted_cut(std::size_t count) const {
    auto const n = t_->length.size();
    auto const cut = [&](std::int64_t most, micro_batch_positions* out) {
      std::size_t used = 1;
      std::int64_t held = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (held + t_->length[i] > most) {
          held = 0;
          if (++used > count) return false;
        }
        held += t_->length[i];
        if (out != nullptr) (*out)[used - 1].push_back(i);
      }
      return true;
    };
    auto const least = (std::max)(t_->length[0], divide_up(tokens_, static_cast<std::int64_t>(count)));
    auto const room = first_where(least, tokens_, [&](std::int64_t tokens) { return cut(tokens, nullptr); });
    micro_batch_positions out(count);
    cut(room, &out);
    return out;
  }

  /// Dealt in turn, there and back.
  [[nodiscard]] micro_batch_positions snake(std::size_t count) const {
    micro_batch_positions out(count);
    for (std::size_t i = 0; i < t_->length.size(); ++i) out[i / count % 2 == 0 ? i % count : count - 1 - i % count].push_back(i);
    return out;
  }

  /// The longest samples, of `percent` of the work but at most 90 % of its tokens, into one micro-batch; then each to the fewest tokens.
  [[nodiscard]] micro_batch_positions longest_apart(std::size_t count, int percent) const {
    micro_batch_positions out(count);
    auto const work = std::accumulate(work_.begin(), work_.end(), std::int64_t{0}) / 100 * percent, most = room() / 10 * 9;
    std::vector<std::pair<std::int64_t, std::size_t>> queue;  // least tokens in front
    std::int64_t done = 0, held = 0;
    std::size_t i = 0;
    for (; i < t_->length.size() && done < work && held + t_->length[i] <= most; ++i) {
      out[0].push_back(i);
      done += work_[i];
      held += t_->length[i];
    }
    queue.emplace_back(held, 0);
    for (std::size_t b = 1; b < count; ++b) queue.emplace_back(0, b);
    std::make_heap(queue.begin(), queue.end(), std::greater<>{});
    for (; i < t_->length.size(); ++i) {
      std::pop_heap(queue.begin(), queue.end(), std::greater<>{});
      out[queue.back().second].push_back(i);
      queue.back().first += t_->length[i];
      std::push_heap(queue.begin(), queue.end(), std::greater<>{});
    }
    return out;
  }

  degree_times const* t_;
  group_planner planner_;
  std::int64_t tokens_;
  std::vector<std::int64_t> work_;  // least rank-time of each position
  group_fit fit_, best_fit_;        // of a round
  std::vector<std::size_t> taken_, best_taken_, placed_;
  std::vector<std::vector<std::size_t>> open_;  // groups of each level
};

}  // namespace ballast::inline v0_2::detail
