// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/fewest_packs_program.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/detail/pattern_knapsack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Lists all packs that a plan of so many packs can have, where they are few, and searches the list for one: proof where the fewest packs
/// are one more than the program says. A pack lacks what its value is below that of the best pack. All packs of a plan together may lack
/// no more value than all packs of most value could hold beside the samples, nor more tokens than there is room.
template <class = when_called>
class listed_packs {
 public:
  listed_packs(pattern_rows const& rows, search_budget& budget) : samples_(rows), budget_(budget) {}

  /// Lists the packs of a plan of `packs` packs, by the mean values of programs that demand a little more or less of each length: that of
  /// one program often leaves samples without value, and so many packs. `infeasible` if there can be no plan, else `unknown`.
  [[nodiscard]] status list(std::uint64_t packs, pattern_attempt& shared, pattern_knapsack<>& knapsack,
                            std::vector<std::vector<std::uint32_t>> const& start) {
    if (packs > most_packs) return status::unknown;
    fewest_packs_program<> program(shared, knapsack);
    program.begin(start);
    std::vector<double> values(samples_.size());
    for (std::size_t k = 0; k < programs; ++k) {
      if (!program.solve(packs, true) && program.exceeded()) return status::infeasible;
      if (!budget_.allows(shared.end)) return status::unknown;
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += program.duals()[i] / static_cast<double>(programs);
      program.sway(spread);
    }
    return list(packs, values, knapsack, shared.end);
  }
  /// The same by any values of samples, until the work is `end`.
  [[nodiscard]] status list(std::uint64_t packs, std::vector<double> const& values, pattern_knapsack<>& knapsack, std::uint64_t end) {
    knapsack.solve(values, samples_.count, budget_);
    auto const room = static_cast<std::int64_t>(packs) * samples_.capacity - static_cast<std::int64_t>(samples_.tokens());
    if (knapsack.exceeds(packs) || room < 0) return status::infeasible;
    packs_ = packs;
    lack_ = knapsack.lack(packs);
    room_ = room;
    auto const until = (std::min)(end, budget_.limit());
    auto const steps = (std::min)(most_steps, until - (std::min)(until, budget_.spent()));
    auto const add = [&](auto const& rows, std::int64_t rest, std::int64_t lack) {
      if (rest > room_) return true;
      rows_.insert(rows_.end(), rows.begin(), rows.end());
      listed_.push_back({rows_.size(), rest, lack});
      return listed_.size() * packs < most_entries;
    };
    complete_ = packs <= most_packs && knapsack.list_packs(lack_, samples_.count, steps, budget_, add);
    return status::unknown;
  }
  /// Whether all packs are listed.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Searches for a plan until the work is `end`.
  [[nodiscard]] status search(std::uint64_t end) {
    end_ = end;
    left_ = samples_.count;
    taken_.clear();
    std::vector<std::uint32_t> all(listed_.size());
    for (std::uint32_t p = 0; p < all.size(); ++p) all[p] = p;
    return place(all, packs_, room_, lack_);
  }
  /// Calls `visit(rows)` for each pack of the plan that was found.
  template <class Visit>
  void for_each_pack(Visit const& visit) const {
    for (auto const p : taken_) visit(rows_of(p));
  }

 private:
  static constexpr std::size_t programs = 8, most_known = std::size_t{1} << 22;
  // A search goes as deep as there are packs, each time with those that are left.
  static constexpr std::uint64_t most_packs = 4096, most_entries = std::uint64_t{1} << 22, most_steps = 20'000'000;
  static constexpr double spread = 0.03125;
  struct pack {
    std::size_t end;  // of its rows
    std::int64_t room, lack;
  };

  [[nodiscard]] std::span<std::uint32_t const> rows_of(std::uint32_t p) const {
    auto const begin = p == 0 ? 0 : listed_[p - 1].end;
    return {rows_.data() + begin, listed_[p].end - begin};
  }
  // Takes the samples of a pack, or none if they are not left.
  [[nodiscard]] bool take(std::uint32_t p) {
    auto const rows = rows_of(p);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      if (left_[rows[k]] > 0) {
        --left_[rows[k]];
        continue;
      }
      while (k-- > 0) ++left_[rows[k]];
      return false;
    }
    return true;
  }
  void give_back(std::uint32_t p) {
    for (auto const i : rows_of(p)) ++left_[i];
  }
  // Places what is left, by packs of `candidates`: a sample that is in fewest of them gets each of its packs in turn.
  [[nodiscard]] status place(std::vector<std::uint32_t> const& candidates, std::uint64_t packs, std::int64_t room, std::int64_t lack) {
    if (std::all_of(left_.begin(), left_.end(), [](auto n) { return n == 0; })) return status::feasible;
    if (!budget_.allows(end_)) return status::unknown;
    auto state = left_;
    state.push_back(packs);
    if (packs == 0 || failed_.contains(state)) return status::infeasible;
    std::vector<std::uint32_t> live, packs_of(left_.size(), 0);
    auto work = 8 * left_.size();
    for (auto const p : candidates) {
      work += 4 + 2 * rows_of(p).size();
      if (listed_[p].room > room || listed_[p].lack > lack || !take(p)) continue;
      give_back(p);
      live.push_back(p);
      auto before = ~std::uint32_t{0};
      for (auto const i : rows_of(p))
        if (i != std::exchange(before, i)) ++packs_of[i];
    }
    budget_.spend(work);
    auto row = left_.size();
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (left_[i] > 0 && (row == left_.size() || packs_of[i] < packs_of[row])) row = i;
    for (auto const p : live) {
      auto const rows = rows_of(p);
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) continue;
      (void)take(p);
      taken_.push_back(p);
      auto const found = place(live, packs - 1, room - listed_[p].room, lack - listed_[p].lack);
      if (found == status::feasible) return found;
      taken_.pop_back();
      give_back(p);
      if (found == status::unknown) return found;
    }
    if (failed_.size() * state.size() < most_known) failed_.insert(std::move(state));
    return status::infeasible;
  }

  pattern_rows const& samples_;
  search_budget& budget_;
  std::vector<pack> listed_;
  std::vector<std::uint32_t> rows_;  // of one pack after the other
  std::uint64_t packs_ = 0, end_ = 0;
  std::int64_t room_ = 0, lack_ = 0;  // of all packs together
  bool complete_ = false;
  std::vector<std::uint64_t> left_;
  std::vector<std::uint32_t> taken_;
  std::set<std::vector<std::uint64_t>> failed_;  // samples of each row that packs could not take, and how many packs
};

}  // namespace ballast::inline v0_2::detail
