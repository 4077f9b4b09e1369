// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/least_of.hpp>
#include <ballast/core/math.hpp>
#include <ballast/methods/local_or_distributed_options.hpp>
#include <ballast/sharding/make_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The placement of one micro-batch: whole samples on single ranks, and samples that all ranks share.

namespace ballast::inline v0_2::detail {

template <index_type Index>
struct timed_sample {
  std::int64_t length, alone, shared;  ///< tokens; time on one rank; time on each rank if all share it
  Index sample;
  std::uint32_t rank;  ///< where it is, or `pass_list::all_ranks`
};

/// Whether one of two samples comes before the other: shorter ones first.
template <index_type Index>
[[nodiscard]] bool shorter(timed_sample<Index> const& a, timed_sample<Index> const& b) {
  return a.length != b.length ? a.length < b.length : a.sample < b.sample;
}

/// Places samples in their order, which is ascending in length unless a caller wants another.
///
/// All ranks have the same charge for shared samples, except under the published roll-back, so ranks are compared by what they hold beside
/// it. Room is counted in N-ths of a token, for N ranks: as whole tokens, a rank with T shared ones has then exactly `ceil(T / N)` of them.
template <index_type Index>
class split_samples {
 public:
  static constexpr auto all_ranks = pass_list<Index>::all_ranks;

  split_samples(std::vector<timed_sample<Index>>& in_order, std::uint64_t ranks, std::int64_t capacity, rolling_back how, local_rank choice)
      : samples_(in_order),
        n_(static_cast<std::int64_t>(ranks)),
        capacity_(capacity),
        how_(how),
        choice_(choice),
        least_load_(static_cast<std::size_t>(ranks)),
        emptiest_(static_cast<std::size_t>(ranks)),
        fullest_(static_cast<std::size_t>(ranks)),
        next_(in_order.size(), none),
        head_(static_cast<std::size_t>(ranks), none),
        tail_(static_cast<std::size_t>(ranks), none) {}

  /// Returns whether every sample found a place.
  [[nodiscard]] bool run() {
    for (std::size_t i = 0; i < samples_.size(); ++i)
      while (!placed(i))
        if (!roll_back()) return false;
    return true;
  }
  /// Shares whole samples, each time the last one placed on the rank with the most work, and keeps the best of all these placements that
  /// are within the capacity.
  template <class Communication>
  void share_more(Communication const& communication) {
    std::int64_t shared = 0;
    for (auto const& s : samples_)
      if (s.rank == all_ranks) shared += s.shared;
    std::vector<std::vector<std::size_t>> held(head_.size());
    for (std::size_t r = 0; r < head_.size(); ++r)
      for (auto i = head_[r]; i != none; i = next_[i]) held[r].push_back(i);
    least_of<> busiest(head_.size());
    for (std::size_t r = 0; r < head_.size(); ++r) busiest.add(r, -least_load_[r]);
    auto const value = [&] {
      auto const exchange = shared_tokens_ == 0 ? 0 : static_cast<std::int64_t>(communication(shared_tokens_));
      return shared + (std::max)(exchange, -busiest[busiest.first()]);
    };
    auto best = value();
    auto const tokens = shared_tokens_;
    std::vector<std::pair<std::size_t, std::uint32_t>> taken;
    std::size_t keep = 0;
    for (auto r = busiest.first(); !held[r].empty(); r = busiest.first()) {
      auto const i = held[r].back();
      auto const& s = samples_[i];
      charge(r, -n_ * s.length, -s.alone);
      charged_ += s.length;
      held[r].pop_back();
      busiest.add(r, s.alone);
      taken.emplace_back(i, r);
      share(i);
      shared += s.shared;
      if (auto const now = value(); now < best && room(fullest_.first()) >= 0 && shared_tokens_ >= n_) {
        best = now;
        keep = taken.size();
      }
    }
    shared_tokens_ = tokens;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      auto const [i, r] = taken[k];
      if (k < keep)
        shared_tokens_ += samples_[i].length;
      else
        samples_[i].rank = r;
    }
  }
  [[nodiscard]] std::int64_t shared_tokens() const { return shared_tokens_; }
  [[nodiscard]] std::uint64_t rolled_back() const { return rolled_back_; }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);

  [[nodiscard]] std::int64_t room(std::size_t rank) const { return n_ * capacity_ - charged_ - emptiest_[rank]; }

  [[nodiscard]] bool placed(std::size_t i) {
    auto const& s = samples_[i];
    auto const fits = [&](std::size_t rank) { return s.length <= capacity_ && room(rank) >= n_ * s.length; };
    if (choice_ == local_rank::least_loaded && fits(least_load_.first())) return hold(i, least_load_.first()), true;
    if (fits(emptiest_.first())) return hold(i, emptiest_.first()), true;
    if (room(fullest_.first()) < s.length || shared_tokens_ + s.length < n_) return false;
    share(i);
    charged_ += s.length;
    return true;
  }
  void hold(std::size_t i, std::uint32_t rank) {
    auto& s = samples_[i];
    s.rank = rank;
    (head_[rank] == none ? head_[rank] : next_[tail_[rank]]) = i;
    tail_[rank] = i;
    charge(rank, n_ * s.length, s.alone);
  }
  void share(std::size_t i) {
    samples_[i].rank = all_ranks;
    shared_tokens_ += samples_[i].length;
  }
  void charge(std::uint32_t rank, std::int64_t tokens, std::int64_t time) {
    least_load_.add(rank, time);
    emptiest_.add(rank, tokens);
    fullest_.add(rank, -tokens);
  }
  /// Makes room on the fullest rank: its first whole sample is shared by all ranks, and so on while a rank is above the capacity.
  ///
  /// In ascending order that takes one sample at a time: the one that waits is no shorter, so it fits nowhere until no rank is above.
  [[nodiscard]] bool roll_back() {
    if (how_ == rolling_back::none) return false;
    do {
      auto const rank = fullest_.first();
      auto before = none, i = head_[rank];
      for (; i != none && shared_tokens_ + samples_[i].length < n_; i = next_[i]) before = i;  // too short to be shared alone
      if (i == none) return false;
      (before == none ? head_[rank] : next_[before]) = next_[i];
      if (tail_[rank] == i) tail_[rank] = before;
      next_[i] = none;
      auto const& s = samples_[i];
      share(i);
      ++rolled_back_;
      if (how_ == rolling_back::published) {  // the other ranks do not learn of their shares
        charge(rank, s.length - n_ * s.length, s.shared - s.alone);
      } else {
        charge(rank, -n_ * s.length, -s.alone);
        charged_ += s.length;
      }
    } while (how_ == rolling_back::corrected && room(fullest_.first()) < 0);
    return true;
  }

  std::vector<timed_sample<Index>>& samples_;
  std::int64_t n_, capacity_;
  rolling_back how_;
  local_rank choice_;
  least_of<> least_load_, emptiest_, fullest_;  // by time, by N-ths of tokens, by their negation
  std::int64_t charged_ = 0;                    // N-ths of tokens that every rank holds of shared samples
  std::int64_t shared_tokens_ = 0;
  std::uint64_t rolled_back_ = 0;
  std::vector<std::size_t> next_, head_, tail_;  // whole samples of each rank, shortest first
};

/// The lower bound on max over ranks of max(exchange of all shared samples, time of own samples) plus the time of all shared samples.
///
/// A sample above the capacity is shared. Beside those: the ranks do the work of all samples; every sample is either whole on a rank or
/// shared, with its tokens exchanged. The time of an exchange must not fall as tokens are added.
template <index_type Index, cost_model Communication>
[[nodiscard]] std::int64_t overlapped_bound(std::vector<timed_sample<Index>> const& samples, std::uint64_t ranks, std::int64_t capacity,
                                            Communication const& communication) {
  auto const n = static_cast<std::int64_t>(ranks);
  std::int64_t tokens = 0, forced = 0, work = 0;
  for (auto const& s : samples) {
    if (s.length > capacity) {
      tokens += s.length;
      forced += s.shared;
    } else {
      work += s.shared <= s.alone / n ? s.shared * n : s.alone;
    }
  }
  auto const exchange = [&](std::int64_t all) { return all == 0 ? 0 : static_cast<std::int64_t>(communication(all)); };
  auto bound = (std::max)(divide_up(work, n), exchange(tokens));
  for (auto const& s : samples)
    if (s.length <= capacity && s.alone > bound) bound = (std::max)(bound, (std::min)(s.alone, exchange(tokens + s.length) + s.shared));
  return forced + bound;
}

}  // namespace ballast::inline v0_2::detail
