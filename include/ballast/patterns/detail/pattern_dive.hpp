// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/patterns/detail/complete_packs.hpp>
#include <ballast/patterns/detail/pattern_knapsack.hpp>
#include <ballast/patterns/detail/pattern_simplex.hpp>

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
template <class = when_called>
class pattern_dive {
 public:
  /// What an attempt may do differently: the random numbers, and whether new patterns are made below the root after the program fits.
  struct variant {
    std::uint64_t seed = 1;
    bool stop_early = true;
  };

  pattern_dive(pattern_rows const& rows, pattern_knapsack<>& knapsack, variant how, search_budget& budget, std::uint64_t end)
      : rows_(rows),
        knapsack_(knapsack),
        budget_(budget),
        how_(how),
        random_(how.seed),
        columns_(rows.size(), random_),
        simplex_(columns_, rows.size(), random_, budget),
        completion_(rows, budget),
        left_(rows.count),
        begin_(budget.spent()),
        end_(end) {}

  /// Fills `packs` packs. `start` are patterns, as rows, of which the first program makes a basis.
  [[nodiscard]] status run(std::uint64_t packs, std::vector<std::vector<std::uint32_t>> const& start) {
    if (rows_.size() == 0) return status::feasible;
    if (packs <= most_completed)
      if (auto const found = complete(packs); found != status::unknown) return found;
    set_columns(start);
    if (!solve(packs, true)) return exceeded_ ? status::infeasible : status::unknown;
    if (!budget_.allows(end_)) return status::unknown;
    fix_by_cost(packs);
    root_ = simplex_.basis();
    auto const spent = budget_.spent() - begin_;
    end_ = (std::min)(end_, budget_.spent() + spent + spent / 2 + dive_work);
    for (std::size_t k = 0; budget_.allows(end_); ++k)
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
  /// The integer values of the last program of the root, by row; empty before it was solved.
  [[nodiscard]] std::vector<std::int32_t> const& values() const noexcept { return values_; }
  [[nodiscard]] std::int64_t value_of_pack() const noexcept { return value_of_pack_; }
  /// Calls `visit(rows)` for each pattern of the basis.
  template <class Visit>
  void for_each_basic(Visit const& visit) const {
    for (auto const v : simplex_.basis())
      if (v >= 0) visit(columns_[static_cast<std::size_t>(v)]);
  }

 private:
  using variable = typename pattern_simplex<>::variable;
  using outcome = typename pattern_simplex<>::outcome;
  static constexpr std::uint64_t most_completed = 8, dive_work = 100'000'000;
  static constexpr std::size_t width = 3, first_prices = 10, columns_per_row = 8;
  static constexpr double nearly = 1e-5;

  [[nodiscard]] double uniform() { return pattern_simplex<>::uniform(random_); }
  [[nodiscard]] std::size_t price(std::span<double const> values) {
    knapsack_.solve(values, left_, budget_);
    return knapsack_.for_each_pack(left_, rows_.size(), budget_, [&](auto const& rows) { return columns_.add(rows); });
  }

  void set_columns(std::vector<std::vector<std::uint32_t>> const& start) {
    for (std::uint32_t i = 0; i < rows_.size(); ++i) columns_.add({&i, 1});
    std::vector<variable> wanted;
    for (auto const& rows : start) {
      if (rows.size() == 1)
        wanted.push_back(static_cast<variable>(rows[0]));
      else if (columns_.add(rows))
        wanted.push_back(static_cast<variable>(columns_.size() - 1));
    }
    add_first_fit();
    std::vector<double> share(rows_.size()), value(rows_.size());
    for (std::size_t i = 0; i < share.size(); ++i) {
      share[i] = static_cast<double>(rows_.length[i]) / static_cast<double>(rows_.capacity);
      if (rows_.max_samples != 0) share[i] = (share[i] + 1 / static_cast<double>(rows_.max_samples)) / 2;
      lower_bound_ = plus_product(lower_bound_, share[i], static_cast<double>(rows_.count[i]));
    }
    for (std::size_t k = 0; wanted.empty() && k < first_prices && budget_.allows(end_); ++k) {
      auto const spread = 0.02 * static_cast<double>(k);
      for (std::size_t i = 0; i < share.size(); ++i) value[i] = share[i] * plus_product(1.02, spread, uniform() - 0.5);
      (void)price(value);
    }
    columns_.fix(left_);
    simplex_.grow();
    simplex_.demand(left_);
    if (wanted.empty())
      simplex_.restart();
    else
      simplex_.install(std::move(wanted));
  }
  // First-fit decreasing.
  void add_first_fit() {
    auto rest = left_;
    std::vector<std::uint32_t> pack;
    for (std::size_t first = 0; first < rest.size();) {
      if (rest[first] == 0) {
        ++first;
        continue;
      }
      pack.clear();
      auto room = rows_.capacity;
      auto repeats = ~std::uint64_t{0};
      for (auto i = first; i < rest.size(); ++i) {
        auto copies = (std::min)(rest[i], static_cast<std::uint64_t>(room / rows_.length[i]));
        if (rows_.max_samples != 0) copies = (std::min)(copies, rows_.max_samples - pack.size());
        if (copies == 0) continue;
        pack.insert(pack.end(), static_cast<std::size_t>(copies), static_cast<std::uint32_t>(i));
        room -= static_cast<std::int64_t>(copies) * rows_.length[i];
        repeats = (std::min)(repeats, rest[i] / copies);
      }
      for (auto const i : pack) rest[i] -= repeats;
      columns_.add(pack);
    }
  }

  // Solves the program of what is left, with new patterns. False if more than `packs` packs are needed (`exceeded_`: proven) or the work is
  // spent.
  [[nodiscard]] bool solve(std::uint64_t packs, bool root) {
    auto const target = static_cast<double>(packs);
    exceeded_ = false;
    if (!simplex_.make_feasible(end_)) simplex_.restart();
    for (auto again = true; again;) {
      auto state = simplex_.improve(end_);
      if (state == outcome::failed) {
        simplex_.restart();
        state = simplex_.improve(end_);
      }
      if (state == outcome::spent) return false;
      if (state == outcome::failed || (!root && how_.stop_early && simplex_.packs() <= target + nearly)) return true;
      auto const& duals = simplex_.duals();
      auto const added = price(duals);
      simplex_.grow();
      if (root) note_values(duals);
      if (knapsack_.exceeds(packs)) {
        exceeded_ = true;
        return false;
      }
      if (root && columns_.size() > columns_per_row * rows_.size()) keep_best_columns();
      again = added != 0;
    }
    return simplex_.packs() <= target + 1e-4 + target / 1e6;
  }
  void note_values(std::vector<double> const& duals) {
    auto const whole = knapsack_.values();
    values_.assign(whole.begin(), whole.end());
    value_of_pack_ = knapsack_.best();
    double sum = 0;
    for (std::size_t i = 0; i < duals.size(); ++i)
      if (duals[i] > 0) sum = plus_product(sum, duals[i], static_cast<double>(left_[i]));
    lower_bound_ = (std::max)(lower_bound_, sum / (std::max)(knapsack_.best_value(), 1.0));
  }
  // Keeps the columns of the basis, single samples, and others of least reduced cost.
  void keep_best_columns() {
    std::vector<std::pair<double, std::size_t>> others;
    std::vector<char> kept(columns_.size(), 0);
    for (std::size_t j = 0; j < kept.size(); ++j) {
      if (j < rows_.size() || simplex_.is_basic(static_cast<variable>(j)))
        kept[j] = 1;
      else
        others.emplace_back(simplex_.reduced_cost(static_cast<variable>(j)), j);
    }
    auto const n = (std::min)(others.size(), columns_per_row * rows_.size() / 2);
    std::sort(others.begin(), others.end());
    for (std::size_t k = 0; k < n; ++k) kept[others[k].second] = 1;
    drop(kept, false);
  }
  // Columns of a reduced cost above the gap of the program are in no plan of `packs` packs, up to rounding.
  void fix_by_cost(std::uint64_t packs) {
    std::vector<char> kept(columns_.size(), 0);
    auto const most = static_cast<double>(packs) - lower_bound_ + 1e-3;
    for (std::size_t j = 0; j < kept.size(); ++j) {
      auto const v = static_cast<variable>(j);
      kept[j] = j < rows_.size() || simplex_.is_basic(v) || simplex_.reduced_cost(v) <= most ? 1 : 0;
    }
    drop(kept, true);
  }
  void drop(std::vector<char> const& kept, bool for_good) {
    budget_.spend(columns_.entries());
    simplex_.renumber(columns_.keep(kept, for_good));
  }

  // The k-th dive from the root: later ones start from a part of its basis and choose with noise.
  [[nodiscard]] bool dive(std::uint64_t packs, std::size_t k) {
    noise_ = k == 0 ? 0 : 0.15 + static_cast<double>(k % 4) / 10;
    nodes_ = (packs + 40) * (k > 4 ? 2 : 1);
    std::vector<std::size_t> off;
    if (k != 0) {
      left_ = rows_.count;
      taken_.clear();
      taken_ends_.clear();
      for (auto const v : root_)
        if (k % 3 != 0 && v >= static_cast<variable>(rows_.size()) && uniform() < 0.1) off.push_back(static_cast<std::size_t>(v));
      for (auto const j : off) columns_.ban(j);
      set_program();
      simplex_.install(root_);
    }
    auto const found = node(packs);
    for (auto const j : off) columns_.lift_ban(j);
    return found;
  }
  void set_program() {
    columns_.fix(left_);
    simplex_.demand(left_);
    budget_.spend(columns_.entries());
  }

  void take(std::size_t j) {
    for (auto const i : columns_[j]) {
      if (left_[i] == 0) continue;
      --left_[i];
      taken_.push_back(i);
    }
    taken_ends_.push_back(taken_.size());
  }
  [[nodiscard]] bool all_taken() const {
    return std::all_of(left_.begin(), left_.end(), [](auto n) { return n == 0; });
  }
  [[nodiscard]] status complete(std::uint64_t packs) {
    auto const found = completion_.run(left_, packs);
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
    auto const part = x - static_cast<double>(static_cast<std::int64_t>(x + nearly));
    return part > nearly ? part : whole;
  }
  [[nodiscard]] std::vector<candidate> positive() const {
    std::vector<candidate> out;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (auto const v = simplex_.basis()[r]; v >= 0 && simplex_.x(r) > nearly) out.push_back({simplex_.x(r), static_cast<std::size_t>(v)});
    return out;
  }
  // Takes the whole packs of the program, some of them by chance not if there is noise. Returns whether any was taken.
  [[nodiscard]] bool take_whole(std::vector<candidate>& candidates, std::uint64_t& packs) {
    auto const before = packs;
    for (auto& [x, j] : candidates) {
      auto const whole = static_cast<std::uint64_t>(x + nearly);
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
  [[nodiscard]] mark here() const { return {left_, taken_.size(), taken_ends_.size()}; }
  void go_back(mark const& to) {
    left_ = to.left;
    taken_.resize(to.taken);
    taken_ends_.resize(to.ends);
  }

  // Fills `packs` packs with what is left.
  [[nodiscard]] bool node(std::uint64_t packs) {
    if (all_taken()) return true;
    if (packs == 0 || nodes_ == 0) return false;
    --nodes_;
    set_program();
    if (!solve(packs, false) || !budget_.allows(end_)) return false;
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
      if (c.x > 1 - nearly) c.x = broken_part(c.x, 1e-3);
    auto const found = branch(packs, std::move(candidates));
    if (!found) go_back(before);
    return found;
  }
  // Takes a pack of the program and goes on; if that fails, another one, without those that failed.
  [[nodiscard]] bool branch(std::uint64_t packs, std::vector<candidate> candidates) {
    auto const before = here();
    auto const basis = simplex_.basis();
    set_program();
    std::vector<std::size_t> failed;
    auto found = false;
    while (failed.size() < width) {
      if (!failed.empty()) {
        set_program();
        simplex_.install(basis);
        if (!solve(packs, false)) break;
        candidates = positive();
        for (auto& c : candidates) c.x = broken_part(c.x, c.x);
      }
      auto chosen = columns_.size();
      double best = -1;
      for (auto const& [x, j] : candidates) {
        if (x < 1e-4 || columns_.fixed(j)) continue;
        auto const score = plus_product(x, noise_, uniform());
        if (score <= best) continue;
        best = score;
        chosen = j;
      }
      if (chosen == columns_.size()) break;
      take(chosen);
      found = node(packs - 1);
      if (found) break;
      go_back(before);
      if (!budget_.allows(end_) || nodes_ == 0) break;
      columns_.ban(chosen);
      failed.push_back(chosen);
    }
    for (auto const j : failed) columns_.lift_ban(j);
    return found;
  }

  pattern_rows const& rows_;
  pattern_knapsack<>& knapsack_;
  search_budget& budget_;
  variant how_;
  splitmix64 random_;
  pattern_columns columns_;
  pattern_simplex<> simplex_;
  pack_completion<> completion_;
  std::vector<std::uint64_t> left_;   // samples of each row
  std::vector<std::uint32_t> taken_;  // rows, pack after pack
  std::vector<std::size_t> taken_ends_;
  std::vector<variable> root_;
  std::vector<std::int32_t> values_;
  std::int64_t value_of_pack_ = 0;
  double lower_bound_ = 0, noise_ = 0;
  bool exceeded_ = false;
  std::uint64_t nodes_ = 0, begin_, end_;
};

}  // namespace ballast::inline v0_2::detail
