// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
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
  std::int64_t rest_at_once = 0;           // most micro-batches with all that is left at which rounds may end

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
    keep_rounds(limit, 16, [&](std::int64_t longest) { return std::array{longest / slack}; });
  }
  /// The same with the part of each round with which the ranks do most work in its time.
  void run_stretched_rounds() {
    keep_rounds(time, 4, [](std::int64_t longest) { return std::array{longest / 1000, longest / 6, longest / 2}; });
  }

  /// The same in smaller steps, where a micro-batch costs more than a hundredth of the time and there may be one too many: rounds that
  /// leave no more tokens than the others hold go before others, and the last three micro-batches may be planned at once.
  void run_full_rounds() {
    if (t_->options.cost_per_pass <= time / 100 || (!best.empty() && static_cast<std::int64_t>(best.size()) <= divide_up(tokens_, room())))
      return;
    rest_at_once = 3;
    full_ = true;
    quick_ = false;
    keep_rounds(time, 4, [](std::int64_t longest) {
      std::array<std::int64_t, 7> more{longest / 1000};
      constexpr int eighths[] = {1, 2, 3, 4, 6, 8};
      std::transform(std::begin(eighths), std::end(eighths), more.begin() + 1, [&](int e) { return longest / 8 * e; });
      return more;
    });
  }

  /// Forms 2 to 9 of the best micro-batches anew, more often for few samples: what takes less replaces them. Rounds last as long as their
  /// longest sample takes or, at random, up to twice as long.
  void improve() {
    splitmix64 draw(1);
    quick_ = true;
    auto const more = [&](std::int64_t longest) {
      return std::array{uniform_below(2, draw) == 0 ? 0 : longest / 64 * static_cast<std::int64_t>(uniform_below(64, draw))};
    };
    for (auto tries = std::clamp(std::size_t{3500} / t_->length.size(), std::size_t{4}, std::size_t{12}); tries > 0 && best.size() > 1;
         --tries) {
      auto const count = (std::min)(best.size(), 2 + static_cast<std::size_t>(uniform_below(8, draw)));
      for (std::size_t k = 0; k < count; ++k) {  // to the back
        auto const from = static_cast<std::size_t>(uniform_below(best.size() - k, draw));
        std::swap(best[from], best[best.size() - 1 - k]);
        std::swap(fits[from], fits[best.size() - 1 - k]);
      }
      auto const kept = best.size() - count;
      std::vector<std::size_t> left;
      std::int64_t limit = 0;
      for (auto b = kept; b < best.size(); ++b) {
        left.insert(left.end(), best[b].begin(), best[b].end());
        limit += fits[b].time;
      }
      std::sort(left.begin(), left.end());
      if (!form(std::move(left), limit, 1, 16, more)) continue;
      best.resize(kept);
      fits.resize(kept);
      std::move(formed_.begin(), formed_.end(), std::back_inserter(best));
      std::move(formed_fits_.begin(), formed_fits_.end(), std::back_inserter(fits));
      time += formed_time_ - limit;
    }
  }

 private:
  /// Forms the micro-batches of all samples. They are the best if they take less than `limit`.
  template <class More>
  void keep_rounds(std::int64_t limit, std::int64_t step, More const& more) {
    if (!form(all_positions(*t_), limit, rest_at_once, step, more)) return;
    time = formed_time_;
    best = std::move(formed_);
    fits = std::move(formed_fits_);
  }
  /// Forms micro-batches of the samples one after the other, or ends with at most `at_once` of all that are left. Returns whether they take
  /// less than `limit`. @param step  a larger number of ranks is tried if it shortens the longest sample by 1 / `step`
  template <class More>
  bool form(std::vector<std::size_t> left, std::int64_t limit, std::int64_t at_once, std::int64_t step, More const& more) {
    auto const ranks = static_cast<std::int64_t>(t_->options.ranks);
    formed_.clear();
    formed_fits_.clear();
    formed_time_ = 0;
    std::int64_t tokens = 0, work = 0;
    for (auto const i : left) {
      tokens += t_->length[i];
      work += work_[i];
    }
    auto const before = limit;
    while (!left.empty()) {
      auto const passes = divide_up(tokens, room());
      if (formed_time_ + divide_up(work, ranks) + passes * t_->options.cost_per_pass >= limit) break;
      if (passes <= at_once) limit = plan_rest(left, passes, tokens, limit);
      need_ = full_ ? tokens - (passes - 1) * (room() / 100 * 97) : 0;
      if (!best_round(left, step, more)) break;
      formed_.emplace_back();
      for (auto const j : best_taken_) {
        formed_.back().push_back(left[j]);
        tokens -= t_->length[left[j]];
        work -= work_[left[j]];
      }
      for (std::size_t k = best_taken_.size(); k-- > 0;) left[best_taken_[k]] = t_->length.size();
      std::erase(left, t_->length.size());
      formed_fits_.push_back(best_fit_);
      formed_time_ += best_fit_.time;
    }
    if (left.empty() && formed_time_ < limit) return true;
    if (limit == before) return false;
    formed_ = std::move(at_once_);
    formed_fits_ = std::move(at_once_fits_);
    formed_time_ = limit;
    return true;
  }
  /// Plans all that are left in as many micro-batches of neighbours in length, of equal tokens. They are kept, behind those that are
  /// formed, if all take less than `limit`. Returns that time or `limit`.
  std::int64_t plan_rest(std::vector<std::size_t> const& left, std::int64_t count, std::int64_t tokens, std::int64_t limit) {
    std::vector<std::span<std::size_t const>> parts;
    std::vector<std::int64_t> bounds;
    std::vector<group_fit> plans;
    auto sum = formed_time_;
    std::size_t end = 0;
    for (std::int64_t k = 1, held = 0; k <= count; ++k) {
      auto const from = end;
      auto const share = tokens / count * k + tokens % count * k / count;
      for (; end < left.size() && (k == count || held + t_->length[left[end]] / 2 < share); ++end) held += t_->length[left[end]];
      if (from == end) continue;
      parts.push_back(std::span(left).subspan(from, end - from));
      if (bounds.emplace_back(planner_.bound(parts.back())) >= limit - sum) return limit;  // which a sample without room is always above
      sum += bounds.back();
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto const useful = limit - sum + bounds[k];
      auto const& fit = planner_.plan(parts[k], quick_ ? useful : degree_times::most, useful);
      if (fit.time >= useful) return limit;
      sum += fit.time - bounds[k];
      plans.push_back(fit);
    }
    at_once_ = formed_;
    at_once_fits_ = formed_fits_;
    for (auto const& part : parts) at_once_.emplace_back(part.begin(), part.end());
    at_once_fits_.insert(at_once_fits_.end(), plans.begin(), plans.end());
    return sum;
  }
  /// The samples and groups of the next micro-batch. Returns false if it finds none.
  /// @param more  by how much it may last longer than the longest sample
  template <class More>
  bool best_round(std::vector<std::size_t> const& left, std::int64_t step, More const& more) {
    best_fit_.time = degree_times::most;
    std::int64_t most_work = 0;
    auto full = false;  // whether the best leaves no more tokens than others hold
    auto quickest = degree_times::most;
    for (std::size_t l = 0; l < t_->levels; ++l) {
      if (!t_->allows(left[0], l) || t_->at(left[0], l) >= quickest - quickest / step) continue;
      quickest = t_->at(left[0], l);
      for (auto const extra : more(quickest)) {
        auto const work = fill_round(left, l, quickest + extra);
        auto const holds = need_ <= 0 || tokens_of(placed_) >= need_;
        auto const worse = [&](std::int64_t least) {
          return best_fit_.time < degree_times::most && holds <= full &&
                 (holds < full || compare_products(work, best_fit_.time, most_work, least) <= 0);
        };
        if (worse(work / static_cast<std::int64_t>(t_->options.ranks) + t_->options.cost_per_pass)) continue;
        planner_.reshape(placed_, fit_);
        if (fit_.time == degree_times::most || worse(fit_.time)) continue;
        full = holds;
        most_work = work;
        std::swap(fit_, best_fit_);
        std::swap(taken_, best_taken_);
      }
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
    for (auto const l : used_) open_[l] = {};
    used_.clear();
    std::int64_t work = 0;
    std::uint64_t ranks = 0;
    auto const shortest = left.back();
    for (std::size_t j = 0; j < left.size() && (ranks < t_->options.ranks || !used_.empty()); ++j) {
      auto const i = left[j];
      auto const narrowest = j == 0 ? level : t_->cheapest(i, within);
      if (narrowest == t_->levels) continue;
      auto g = first_with_room(i, narrowest, within);
      auto const width = static_cast<std::uint64_t>(t_->width[narrowest]);
      if (g == fit_.groups.size() && ranks + width <= t_->options.ranks) {
        ranks += width;
        fit_.groups.push_back({narrowest, 0, 0});
        open(narrowest, g);
      } else if (g == fit_.groups.size()) {
        for (auto const l : used_)
          if (l > narrowest && g == fit_.groups.size() && t_->at(i, l) <= within && t_->allows(i, l)) g = first_with_room(i, l, within);
        if (g == fit_.groups.size()) continue;
      }
      auto& into = fit_.groups[g];
      into.tokens += t_->length[i];
      into.time += t_->at(i, into.level);
      if (into.tokens + t_->length[shortest] > t_->room(into.level) || into.time + t_->at(shortest, into.level) > within) {
        std::erase(open_[into.level].groups, g);
        if (open_[into.level].groups.empty()) std::erase(used_, into.level);
      }
      fit_.group_of.push_back(g);
      taken_.push_back(j);
      placed_.push_back(i);
      work += work_[i];
    }
    return work;
  }
  /// Groups of one level that are not full, and at most the tokens and the time that one of them has left.
  struct open_groups {
    std::vector<std::size_t> groups;
    std::int64_t most_tokens = 0, most_time = 0;
  };
  void open(std::size_t level, std::size_t group) {
    auto& mine = open_[level];
    if (mine.groups.empty()) used_.insert(std::lower_bound(used_.begin(), used_.end(), level), level);
    mine.groups.push_back(group);
    mine.most_tokens = t_->room(level);
    mine.most_time = degree_times::most;
  }
  /// The first group of the level in which the sample has room and time; the number of groups if there is none.
  [[nodiscard]] std::size_t first_with_room(std::size_t i, std::size_t level, std::int64_t within) {
    auto& mine = open_[level];
    if (mine.groups.empty() || t_->length[i] > mine.most_tokens || t_->at(i, level) > mine.most_time) return fit_.groups.size();
    std::int64_t most_tokens = 0, most_time = 0;  // left in any
    for (auto const k : mine.groups) {
      auto const& g = fit_.groups[k];
      if (g.tokens + t_->length[i] <= t_->room(level) && g.time + t_->at(i, level) <= within) return k;
      most_tokens = (std::max)(most_tokens, t_->room(level) - g.tokens);
      most_time = (std::max)(most_time, within - g.time);
    }
    mine.most_tokens = most_tokens;
    mine.most_time = most_time;
    return fit_.groups.size();
  }

  [[nodiscard]] std::int64_t tokens_of(std::vector<std::size_t> const& positions) const {
    return std::accumulate(positions.begin(), positions.end(), std::int64_t{0}, [&](auto sum, auto i) { return sum + t_->length[i]; });
  }
  [[nodiscard]] std::int64_t room() const { return t_->options.capacity * static_cast<std::int64_t>(t_->options.ranks); }

  /// Plans the groups of each micro-batch; keeps them if they take less than the best. Returns whether all have groups, or cannot be best.
  bool attempt(micro_batch_positions batches) {
    std::vector<std::int64_t> bounds;
    std::int64_t sum = 0, least = 0;  // `least` is a bound that takes less time to find
    std::erase_if(batches, [](auto const& b) { return b.empty(); });
    for (auto const& b : batches) {
      std::int64_t held = 0, work = 0, longest = 0;
      for (auto const i : b) {
        held += t_->length[i];
        work += work_[i];
        longest = (std::max)(longest, t_->least[i]);
      }
      if (held > room() || longest == degree_times::most) return false;
      least += (std::max)(longest, divide_up(work, static_cast<std::int64_t>(t_->options.ranks))) + t_->options.cost_per_pass;
    }
    if (least >= time) return true;
    for (auto const& b : batches) {
      sum += bounds.emplace_back(planner_.bound(b));
      if (sum >= time) return true;
    }
    std::vector<group_fit> plans;
    for (std::size_t b = 0; b < batches.size(); ++b) {
      auto const& fit = planner_.plan(batches[b], degree_times::most, time - sum + bounds[b]);
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
  bool quick_ = false;              // whether the last micro-batch is planned only if a single pass takes little enough
  bool full_ = false;               // whether a round that leaves few enough tokens for as few micro-batches goes before others
  std::int64_t need_ = 0;           // tokens of such a round
  micro_batch_positions formed_;    // the last that `form` made, their groups and their time
  std::vector<group_fit> formed_fits_;
  std::int64_t formed_time_ = 0;
  micro_batch_positions at_once_;  // those of a round before, and all that it left
  std::vector<group_fit> at_once_fits_;
  std::vector<std::size_t> taken_, best_taken_, placed_;
  std::vector<open_groups> open_;  // of each level
  std::vector<std::size_t> used_;  // levels with such groups, ascending
};

/// What the search of `lockstep_shards` finds below a time. @param improves  whether its micro-batches are formed anew at last
[[nodiscard]] inline micro_batch_search search_lockstep(degree_times const& t, std::int64_t below, std::uint64_t counts,
                                                        bool improves = true) {
  micro_batch_search out(t);
  out.time = below;
  out.rest_at_once = 1;
  out.run_all_rounds(below);
  out.run(static_cast<std::size_t>(counts));
  if (improves) {
    out.run_stretched_rounds();
    out.improve();
    out.run_full_rounds();
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
