// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/block_builder.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/leaf_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The search on the step time T: plans are constructed for shorter and shorter T, by several rules, and the best is kept.

namespace ballast::inline v0_2::detail {

/// The rules of one construction.
struct tree_rules {
  pass_count counts;
  leaf_order order;
  std::int64_t share;  // planned room, in thousandths of the tokens
};

/// Searches for a plan of independent or mixed passes.
class tree_search {
 public:
  /// @param t  the samples, at least one @param lower  a lower bound @param incumbent  value of a plan that is known
  /// @param fill  how passes of several ranks are filled @param deal_anew  whether they move such that ranks have time for whole numbers of
  /// passes @param deep  whether more rules are tried, in smaller steps
  tree_search(degree_times const& t, std::int64_t lower, std::int64_t incumbent, block_fill fill, bool deal_anew, bool deep)
      : t_(t), lower_(lower), value_(incumbent), fill_(fill), deal_anew_(deal_anew), deep_(deep), waiting_(t), blocks_(t), leaves_(t) {
    using enum pass_count;
    using enum leaf_order;
    auto const passes = (std::max)(t.tokens / static_cast<std::int64_t>(t.options.ranks) / t.options.capacity, std::int64_t{1});
    auto const few = passes < 8 && t.length.size() <= 65536;
    // Where there are many passes, room is planned that costs 0.4 % of the time: otherwise dense samples and tokens may not meet.
    auto const spare = few ? 0 : (std::min)(lower / (std::max)(t.options.cost_per_pass * passes, std::int64_t{1}) * 4, std::int64_t{60});
    auto const add = [&](pass_count counts, leaf_order order, std::int64_t share) {
      if (order != by_pass || few) rules_.push_back({counts, order, share});
    };
    add(by_tokens, least_load, 1000 + spare);
    add(by_supply, by_pass, 1000);
    add(by_supply, least_load, 1030);
    add(by_supply, by_ratio, 1020);
    add(by_supply, least_load, 1000);
    add(by_supply, by_pass, 1040);
    add(by_tokens, least_load, 1020);
    if (!deep) return;
    for (auto const counts : {by_tokens, by_supply})
      for (auto const order : {by_pass, least_load, by_ratio})
        for (auto const share : {1000, 1010, 1020, 1030, 1050, 1080, 1120}) add(counts, order, share);
  }

  /// Constructs at most `attempts` plans and returns the best that is faster than the incumbent; its value is `block_plan::none` if none
  /// is.
  [[nodiscard]] block_plan run(std::int64_t attempts) {
    attempts_ = attempts;
    for (auto const thousandths : {1, 10, 50, 120, 250}) {  // until the first plan that meets its time
      auto const limit = lower_ + lower_ / 1000 * thousandths + thousandths;
      if (limit >= value_ || try_rules(limit, thousandths == 1 ? 1 : 2)) break;
    }
    std::int64_t low = 0;  // no plan was found at this distance from the bound
    while (attempts_ > 0 && gap() - low > lower_ / 1000) {
      auto const middle = low + (gap() - low) / 4 * (deep_ ? 3 : 2);
      if (!try_rules(lower_ + middle, rules_.size())) low = middle;
    }
    return std::move(best_);
  }

 private:
  [[nodiscard]] std::int64_t gap() const { return value_ - lower_; }
  /// Constructs plans for a time by up to `most` rules, most recently successful first, until one meets it.
  bool try_rules(std::int64_t limit, std::size_t most) {
    for (std::size_t k = 0; k < most && attempts_ > 0; ++k) {
      --attempts_;
      auto const rules = rules_[k];
      if (construct(limit, rules)) {
        std::swap(best_, next_);
        value_ = best_.value;
      }
      if (value_ > limit) continue;
      std::rotate(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(k), rules_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
      return true;
    }
    return value_ <= limit;
  }
  /// Whether the rules give a plan that is better than the best so far.
  bool construct(std::int64_t limit, tree_rules const& rules) {
    build_blocks(limit);
    for (int round = 0; round < 4 && value_ == block_plan::none; ++round) {  // the first plan begins at a time that may suffice
      auto const more = shortage(limit);
      if (more <= 0) break;
      limit += more;
      build_blocks(limit);
    }
    if (*std::max_element(blocks_.load.begin(), blocks_.load.end()) >= value_) return false;
    return leaves_.build(limit, rules.counts, rules.order, rules.share, blocks_.load, value_, waiting_, next_);
  }

  void build_blocks(std::int64_t limit) {
    next_.clear();
    waiting_.reset();
    blocks_.build(limit, fill_, deal_anew_, waiting_, next_);
  }
  /// By how much the time would have to be longer for the samples that still wait, on average of the ranks.
  [[nodiscard]] std::int64_t shortage(std::int64_t limit) const {
    auto const& o = t_.options;
    auto needed = waiting_.time + divide_up(waiting_.tokens, o.capacity) * o.cost_per_pass;
    for (auto const load : blocks_.load) needed -= limit - load;
    return needed <= 0 ? 0 : divide_up(needed, static_cast<std::int64_t>(o.ranks));
  }

  degree_times const& t_;
  std::int64_t lower_, value_, attempts_ = 0;
  block_fill fill_;
  bool deal_anew_, deep_;
  std::vector<tree_rules> rules_;
  waiting_samples waiting_;
  block_builder blocks_;
  leaf_builder leaves_;
  block_plan best_, next_;
};

}  // namespace ballast::inline v0_2::detail
