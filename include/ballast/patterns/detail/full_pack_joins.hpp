// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/complete_packs.hpp>
#include <ballast/patterns/detail/full_rooms.hpp>
#include <ballast/patterns/detail/reduce_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Whether samples fill packs to the last token, where all packs have to be full. A length that every full pack with a sample has beside it
/// is joined to that sample, since every plan has the two in one pack. Two samples that fill a pack are joined, too: what stands beside the
/// one in a plan can be exchanged for the other. Where no such pair is left, each length that can be the longest one beside a sample is
/// joined to it in turn, and the samples that result are searched in the same way.
template <class = when_called>
class full_pack_joins {
 public:
  full_pack_joins(pattern_rows const& rows, search_budget& budget, std::uint64_t end)
      : rows_(rows), budget_(budget), end_(end), rooms_(rows.capacity, budget) {
    for (std::size_t i = 0; i < rows.size(); ++i) left_[rows.length[i]] = rows.count[i];
  }
  /// The work of which filling a table with an entry for each room twice is half; 2^64 - 1 if that table is too large.
  [[nodiscard]] static std::uint64_t least_work(pattern_rows const& rows, std::uint64_t most_rooms) {
    std::uint64_t samples = 0;
    for (auto const n : rows.count) samples += n;
    auto const rooms = static_cast<std::uint64_t>(rows.capacity) + 64;
    auto const fits = samples <= most_samples && rooms <= most_rooms && samples * rooms / 64 <= most_words;
    return fits ? 4 * (samples * (rooms / 32 + 8) + 4 * rooms) : ~std::uint64_t{0};
  }

  /// Makes the joins that every plan has. `infeasible`, `feasible` if no sample is left, or `unknown`.
  [[nodiscard]] status join_all() {
    if (!join_all(left_)) return status::infeasible;
    return left_.empty() ? status::feasible : status::unknown;
  }
  /// Whether there are any joins.
  [[nodiscard]] bool joined() const noexcept { return !joins_.empty(); }
  /// Searches `searches` times, with other random numbers and more nodes each time, or until the work is `end`.
  [[nodiscard]] status search(std::size_t searches, std::uint64_t end) {
    end_ = end;
    for (auto out = status::unknown; searches > 0 && budget_.allows(end_); --searches) {
      nodes_ = first_nodes + first_nodes / 8 * searched_++;
      auto const joins = joins_.size();
      out = branch(left_);
      if (out != status::unknown) return out;
      joins_.resize(joins);
    }
    return status::unknown;
  }
  /// All samples.
  [[nodiscard]] pattern_rows const& rows() const noexcept { return rows_; }
  /// The samples that are left after `join_all`. Those of a length that `rows` does not have are of class `unnamed`.
  [[nodiscard]] pattern_rows rows_left(std::uint32_t unnamed) const { return rows_of(left_, unnamed); }
  /// Adds a pack of the samples that were left, as rows of `rows_left`.
  void add_pack(pattern_rows const& rows, std::span<std::uint32_t const> pack) {
    packs_.emplace_back();
    for (auto const i : pack) packs_.back().push_back(rows.length[i]);
  }
  /// Calls `visit(rows)` for each pack, with the rows of its samples.
  template <class Visit>
  void for_each_pack(Visit const& visit) const {
    std::map<std::int64_t, std::vector<std::size_t>> holders;  // the packs that hold samples of a length
    std::size_t packs = 0;
    for (auto const& pack : packs_) {
      for (auto const l : pack) holders[l].push_back(packs);
      ++packs;
    }
    for (auto j = joins_.size(); j-- > 0;) {
      auto const [a, b] = joins_[j];
      auto pack = packs;
      if (a + b == rows_.capacity) {
        ++packs;
      } else {
        auto& from = holders[a + b];
        pack = from.back();
        from.pop_back();
      }
      holders[a].push_back(pack);
      holders[b].push_back(pack);
    }
    std::vector<std::vector<std::uint32_t>> rows(packs);
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
      for (auto const p : holders[rows_.length[i]]) rows[p].push_back(i);
    for (auto const& pack : rows) visit(std::span<std::uint32_t const>(pack));
  }

 private:
  static constexpr std::uint64_t most_samples = 4096, most_words = std::uint64_t{1} << 24, most_completed = 8;
  static constexpr std::size_t first_nodes = 60, most_known = 4, most_tried = 64;
  static constexpr std::int64_t impossible = -1, none = 0;
  using lengths = std::vector<std::int64_t>;

  static void take(sample_counts& samples, std::int64_t length) {
    auto const at = samples.find(length);
    if (--at->second == 0) samples.erase(at);
  }
  // Joins two samples; those that fill a pack are done.
  void join(sample_counts& samples, std::int64_t a, std::int64_t b) {
    take(samples, a);
    take(samples, b);
    if (a + b != rows_.capacity) ++samples[a + b];
    joins_.emplace_back(a, b);
  }
  // Joins a sample to what fills a pack with it, as long as there is such a one.
  void join_full(sample_counts& samples, std::int64_t length) {
    for (auto const other = rows_.capacity - length; samples.contains(length) && samples.contains(other);) {
      if (other == length && samples[length] < 2) return;
      join(samples, length, other);
    }
  }
  // Makes the joins that every plan has. False if the samples fill no packs.
  [[nodiscard]] bool join_all(sample_counts& samples) {
    lengths all;
    for (auto const& [l, count] : samples) all.push_back(l);
    for (auto const l : all) join_full(samples, l);
    auto at = samples.begin();
    for (std::size_t without = 0; without < samples.size() && budget_.allows(end_); ++without) {
      if (at == samples.end()) at = samples.begin();
      auto const length = at->first, other = partner(samples, length);
      if (other == impossible) return false;
      ++at;
      if (other == none) continue;
      join(samples, length, other);
      join_full(samples, length + other);
      at = samples.lower_bound(length);
      without = std::size_t{0} - 1;
    }
    return true;
  }

  // Whether there are these samples beside one of `length`.
  [[nodiscard]] static bool has(sample_counts const& samples, std::int64_t length, lengths const& beside) {
    std::uint64_t copies = 0;
    for (std::size_t k = 0; k < beside.size(); ++k) {
      copies = k > 0 && beside[k] == beside[k - 1] ? copies + 1 : 1;
      auto const at = samples.find(beside[k]);
      if (at == samples.end() || at->second < copies + (beside[k] == length ? 1 : 0)) return false;
    }
    return true;
  }
  // A length that every full pack with a sample of `length` has beside it, or `none`, or `impossible` if there is no such pack. Only a
  // length that all packs of `known_` have can be it.
  [[nodiscard]] std::int64_t partner(sample_counts const& samples, std::int64_t length) {
    if (known_.size() > (std::size_t{1} << 16)) known_.clear();
    auto& known = known_[length];
    lengths shared;
    auto any = false;
    auto const share = [&](lengths const& pack) {
      if (!std::exchange(any, true)) {
        shared = pack;
        shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
      } else {
        std::erase_if(shared, [&](auto l) { return std::find(pack.begin(), pack.end(), l) == pack.end(); });
      }
    };
    for (auto const& pack : known)
      if (has(samples, length, pack)) share(pack);
    auto const fills = [&](lengths const& without) {
      if (!rooms_.fill(samples, length, without)) return false;
      if (known.size() == most_known) known.erase(known.begin());
      known.push_back(rooms_.found());
      share(known.back());
      return true;
    };
    if (!any && !fills({})) return impossible;
    if (shared.size() > 1) (void)fills(shared);
    while (!shared.empty() && budget_.allows(end_)) {
      auto const other = shared.back();
      if (!fills({other})) return other;
    }
    return none;
  }

  [[nodiscard]] pattern_rows rows_of(sample_counts const& samples, std::uint32_t unnamed) const {
    pattern_rows out{rows_.capacity, {}, {}, {}, 0};
    std::size_t i = 0;  // both are sorted
    for (auto const& [l, count] : samples) {
      while (i < rows_.size() && rows_.length[i] > l) ++i;
      out.length.push_back(l);
      out.item_class.push_back(i < rows_.size() && rows_.length[i] == l ? rows_.item_class[i] : unnamed);
      out.count.push_back(count);
    }
    return out;
  }
  // Fills few packs by exhaustive search.
  [[nodiscard]] status complete(sample_counts const& samples, std::uint64_t packs) {
    auto const rows = rows_of(samples, 0);
    pack_completion<> completion(rows, budget_);
    auto const out = completion.run(rows.count, packs);
    if (out != status::feasible) return out;
    completion.for_each_pack([&](auto const& pack) { add_pack(rows, pack); });
    return out;
  }
  // The joins of a sample to each length that can be the longest one beside it, for a sample with few of them: the length of the sample,
  // and the others, mostly the longest first.
  [[nodiscard]] std::pair<std::int64_t, lengths> choices(sample_counts const& samples) {
    std::pair<std::int64_t, lengths> best;
    auto fewest = ~std::size_t{0} - 1;
    std::size_t tried = 0;
    for (auto at = samples.begin(); at != samples.end() && tried < most_tried && (tried == 0 || budget_.allows(end_)); ++at, ++tried) {
      auto others = rooms_.longest_beside(samples, at->first, fewest + 1);
      if (others.size() < fewest || (others.size() == fewest && random_() % 2 != 0)) {
        fewest = others.size();
        best = {at->first, std::move(others)};
      }
      if (fewest <= 2 && random_() % 4 == 0) break;
    }
    auto& others = best.second;
    std::reverse(others.begin(), others.end());
    for (std::size_t k = 1; k < others.size(); ++k)
      if (random_() % 3 == 0) std::swap(others[k], others[static_cast<std::size_t>(random_() % (k + 1))]);
    return best;
  }
  [[nodiscard]] status branch(sample_counts samples) {
    if (nodes_ == 0) return status::unknown;
    --nodes_;
    if (!join_all(samples)) return status::infeasible;
    if (samples.empty()) return status::feasible;
    if (!budget_.allows(end_)) return status::unknown;
    std::int64_t tokens = 0;
    for (auto const& [l, count] : samples) tokens += l * static_cast<std::int64_t>(count);
    if (auto const packs = static_cast<std::uint64_t>(tokens / rows_.capacity); packs <= most_completed)
      if (auto const out = complete(samples, packs); out != status::unknown) return out;
    auto const [length, others] = choices(samples);
    auto out = status::infeasible;
    auto const joins = joins_.size();
    for (auto const other : others) {
      if (!budget_.allows(end_) || nodes_ == 0) return status::unknown;
      auto joined = samples;
      join(joined, length, other);
      join_full(joined, length + other);
      auto const found = branch(std::move(joined));
      if (found == status::feasible) return found;
      if (found == status::unknown) out = found;
      joins_.resize(joins);
    }
    return out;
  }

  pattern_rows rows_;
  search_budget& budget_;
  std::uint64_t end_;
  full_rooms<> rooms_;
  sample_counts left_;
  std::vector<std::pair<std::int64_t, std::int64_t>> joins_;  // in their order
  std::vector<lengths> packs_;                                // of samples that were left after the joins
  std::map<std::int64_t, std::vector<lengths>> known_;        // full packs found before: what is beside a sample of a length
  splitmix64 random_{1};
  std::size_t nodes_ = 0, searched_ = 0;
};

}  // namespace ballast::inline v0_2::detail
