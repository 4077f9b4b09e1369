// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/complete_packs.hpp>
#include <ballast/patterns/detail/pattern_columns.hpp>
#include <ballast/patterns/unfused.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// One attempt to fill a given number of packs: the linear program over patterns, then dives. A dive takes the packs of the program that
/// are whole and one that is nearly so, solves the program of the rest with new patterns, and goes on. Only integers prove that a number of
/// packs is too small.
template <class Program>
class pattern_dive {
 public:
  pattern_dive(pattern_attempt& shared, typename Program::pricing& knapsack)
      : shared_(shared), program_(shared, knapsack), completion_(shared.rows, shared.budget), begin_(shared.budget.spent()) {}

  /// Fills `packs` packs. `start` are patterns, as rows, of which the first program makes a basis.
  [[nodiscard]] status run(std::uint64_t packs, std::vector<std::vector<std::uint32_t>> const& start) {
    if (shared_.rows.size() == 0) return status::feasible;
    if (packs <= most_completed)
      if (auto const found = complete(packs); found != status::unknown) return found;
    program_.begin(start);
    if (!program_.solve(packs, true)) return program_.exceeded() ? status::infeasible : status::unknown;
    fractional_ = true;
    if (!shared_.budget.allows(shared_.end)) return status::unknown;
    program_.fix_by_cost(packs);
    root_ = program_.here();
    auto const spent = shared_.budget.spent() - begin_;
    shared_.end = (std::min)(shared_.end, shared_.budget.spent() + spent + spent / 2 + dive_work);
    for (std::size_t k = 0; shared_.budget.allows(shared_.end); ++k)
      if (dive(packs, k)) return status::feasible;
    return status::unknown;
  }

  /// Calls `visit(rows)` for each pack of the plan that was found.
  template <class Visit>
  void for_each_pack(Visit const& visit) const {
    std::size_t begin = 0;
    for (auto const end : taken_ends_) {
      visit(std::span(taken_).subspan(begin, end - begin));
      begin = end;
    }
  }
  [[nodiscard]] Program const& program() const noexcept { return program_; }
  /// Whether the first program fits into the packs.
  [[nodiscard]] bool fractional() const noexcept { return fractional_; }
  /// The patterns of the first program's solution, as rows; none before it was solved.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> root() const {
    std::vector<std::vector<std::uint32_t>> out;
    program_.for_each_column(root_, [&](std::size_t j) { out.emplace_back(shared_.columns[j].begin(), shared_.columns[j].end()); });
    return out;
  }

 private:
  static constexpr std::uint64_t most_completed = 8, dive_work = 100'000'000;
  static constexpr std::size_t width = 3;

  [[nodiscard]] double uniform() { return uniform_double(shared_.random); }

  // The k-th dive from the root: later ones start from a part of its basis and choose with noise.
  [[nodiscard]] bool dive(std::uint64_t packs, std::size_t k) {
    noise_ = k == 0 ? 0 : 0.15 + static_cast<double>(k % 4) / 10;
    nodes_ = (packs + 40) * (k > 4 ? 2 : 1);
    std::vector<std::size_t> off;
    if (k != 0) {
      shared_.left = shared_.rows.count;
      taken_.clear();
      taken_ends_.clear();
      program_.for_each_column(root_, [&](std::size_t j) {
        if (k % 3 != 0 && uniform() < 0.1) off.push_back(j);
      });
      for (auto const j : off) shared_.columns.ban(j);
      program_.update();
      program_.go_back(root_);
    }
    auto const found = node(packs);
    for (auto const j : off) shared_.columns.lift_ban(j);
    return found;
  }
  void take(std::size_t j) {
    for (auto const i : shared_.columns[j]) {
      if (shared_.left[i] == 0) continue;
      --shared_.left[i];
      taken_.push_back(i);
    }
    taken_ends_.push_back(taken_.size());
  }
  [[nodiscard]] bool all_taken() const {
    return std::all_of(shared_.left.begin(), shared_.left.end(), [](auto n) { return n == 0; });
  }
  [[nodiscard]] status complete(std::uint64_t packs) {
    auto const found = completion_.run(shared_.left, packs);
    if (found == status::feasible)
      completion_.for_each_pack([&](auto const& rows) {
        taken_.insert(taken_.end(), rows.begin(), rows.end());
        taken_ends_.push_back(taken_.size());
      });
    return found;
  }

  struct candidate {
    double x;  // the part of it that is not whole
    std::size_t column;
  };
  [[nodiscard]] static double broken_part(double x, double whole) {
    auto const part = x - static_cast<double>(static_cast<std::int64_t>(x + nearly_whole));
    return part > nearly_whole ? part : whole;
  }
  [[nodiscard]] std::vector<candidate> positive() const {
    std::vector<candidate> out;
    program_.for_each_positive([&](double x, std::size_t j) { out.push_back({x, j}); });
    return out;
  }
  // Takes the whole packs of the program, some of them by chance not if there is noise. Returns whether any was taken.
  [[nodiscard]] bool take_whole(std::vector<candidate>& candidates, std::uint64_t& packs) {
    auto const before = packs;
    for (auto& [x, j] : candidates) {
      auto const whole = static_cast<std::uint64_t>(x + nearly_whole);
      if (whole > 0 && noise_ > 0 && uniform() < 0.3) continue;
      for (std::uint64_t k = 0; k < whole && packs > 0 && !all_taken(); ++k, --packs) take(j);
      x -= static_cast<double>(whole);
    }
    return packs != before;
  }

  // What is left at a node, to come back to it.
  struct mark {
    std::vector<std::uint64_t> left;
    std::size_t taken, ends;
  };
  [[nodiscard]] mark here() const { return {shared_.left, taken_.size(), taken_ends_.size()}; }
  void go_back(mark const& to) {
    shared_.left = to.left;
    taken_.resize(to.taken);
    taken_ends_.resize(to.ends);
  }

  // Fills `packs` packs with what is left.
  [[nodiscard]] bool node(std::uint64_t packs) {
    if (all_taken()) return true;
    if (packs == 0 || nodes_ == 0) return false;
    --nodes_;
    program_.update();
    if (!program_.solve(packs, false) || !shared_.budget.allows(shared_.end)) return false;
    auto const before = here();
    auto const packs_before = packs;
    auto candidates = positive();
    auto whole = take_whole(candidates, packs);
    if (all_taken()) return true;
    if (packs <= most_completed) {
      auto const found = complete(packs);
      if (found == status::feasible) return true;
      if (found == status::infeasible) {
        if (!whole) return false;
        go_back(before);  // the whole packs were wrong
        packs = packs_before;
        whole = false;
      }
    }
    for (auto& c : candidates)
      if (c.x > 1 - nearly_whole) c.x = broken_part(c.x, 1e-3);
    auto const found = branch(packs, std::move(candidates));
    if (!found) go_back(before);
    return found;
  }
  // Takes a pack of the program and goes on; if that fails, another one, without those that failed.
  [[nodiscard]] bool branch(std::uint64_t packs, std::vector<candidate> candidates) {
    auto const before = here();
    auto const solution = program_.here();
    program_.update();
    std::vector<std::size_t> failed;
    auto found = false;
    while (failed.size() < width) {
      if (!failed.empty()) {
        program_.update();
        program_.go_back(solution);
        if (!program_.solve(packs, false)) break;
        candidates = positive();
        for (auto& c : candidates) c.x = broken_part(c.x, c.x);
      }
      auto chosen = shared_.columns.size();
      double best = -1;
      for (auto const& [x, j] : candidates) {
        if (x < 1e-4 || shared_.columns.fixed(j)) continue;
        auto const score = plus_product(x, noise_, uniform());
        if (score <= best) continue;
        best = score;
        chosen = j;
      }
      if (chosen == shared_.columns.size()) break;
      take(chosen);
      found = node(packs - 1);
      if (found) break;
      go_back(before);
      if (!shared_.budget.allows(shared_.end) || nodes_ == 0) break;
      shared_.columns.ban(chosen);
      failed.push_back(chosen);
    }
    for (auto const j : failed) shared_.columns.lift_ban(j);
    return found;
  }

  pattern_attempt& shared_;
  Program program_;
  pack_completion<> completion_;
  std::vector<std::uint32_t> taken_;  // rows, pack after pack
  std::vector<std::size_t> taken_ends_;
  typename Program::state root_;
  bool fractional_ = false;
  double noise_ = 0;
  std::uint64_t nodes_ = 0, begin_;
};

}  // namespace ballast::inline v0_2::detail
