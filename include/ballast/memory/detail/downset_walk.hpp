// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

using downset = std::vector<std::uint64_t>;  // a set of operators, in bits

// Walks over the sets of operators that can have run, from the first operator on or, undoing them, from the last. In what follows, an
// operator runs where the walk undoes it, too.
//
// A set can be *closed* within a peak: operators that lead, within it, to a set of no more memory run at once. No order within the peak is
// lost. The memory M of sets of operators is submodular. Let D2 be a set that is reached from D within the peak, with M(D2) <= M(X) for all
// X between D and D2. Take any way that goes on from D over the sets P1, P2, ... The way that first reaches D2 and goes on over P1 + D2, P2
// + D2, ... has no step that needs more: M(P + D2) <= M(P) + M(D2) - M(P and D2), and M(D2) <= M(P and D2). Along a chain in which each
// operator needs the one before it, the sets between D and D2 are the parts of the chain, so its first part of no more memory qualifies.
template <class = when_called>
class downset_walk {
 public:
  // Operators are numbered so that those that must run before one have smaller numbers.
  downset_walk(order_problem const& p, bool backwards)
      : p_(p), backwards_(backwards), sweep_(p, backwards), ready_((p.size() + 63) / 64, 0), here_(ready_) {
    for (std::uint32_t v = 0; v < p.size(); ++v)
      if (sweep_.ready(v)) flip(ready_, v);
  }

  [[nodiscard]] downset const& here() const noexcept { return here_; }
  [[nodiscard]] order_sweep<> const& sweep() const noexcept { return sweep_; }
  [[nodiscard]] operator_order const& path() const noexcept { return path_; }      // what ran since `forget`
  [[nodiscard]] std::uint64_t work() noexcept { return std::exchange(work_, 0); }  // since it was asked for
  void forget() { path_.clear(); }

  void run(std::uint32_t v) {
    work_ += 8 + 2 * p_.touched[v].size() + sweep_.next(v).size();
    sweep_.step(v, [&](std::uint32_t u) { flip(ready_, u); });
    flip(ready_, v);
    flip(here_, v);
    path_.push_back(v);
  }
  void take_back(std::size_t length) {
    for (; path_.size() > length; path_.pop_back()) {
      auto const v = path_.back();
      sweep_.step_back(v, [&](std::uint32_t u) { flip(ready_, u); });
      flip(ready_, v);
      flip(here_, v);
    }
  }
  // Goes to a set: what is too much is taken back from the last on, what is missing runs from the first on.
  void go_to(std::span<std::uint64_t const> set) {
    work_ += 10 * here_.size();  // with what finds the set in a table
    path_.clear();
    for_each([&](std::size_t w) { return here_[w] & ~set[w]; }, [&](std::uint32_t v) { path_.push_back(v); });
    take_back(0);
    for_each([&](std::size_t w) { return set[w] & ~here_[w]; }, [&](std::uint32_t v) { run(v); });
    path_.clear();
  }
  // Calls `visit` with each operator that is ready and not in `without`, in the direction of the walk.
  template <class Visit>
  void for_each_ready(downset const& without, Visit&& visit) const {
    for_each([&](std::size_t w) { return ready_[w] & ~without[w]; }, visit);
  }
  // Closes the set that the walk is at, by operators that are not in `without`.
  void close(std::int64_t peak, downset const& without) {
    for (bool again = true; std::exchange(again, false);) {
      work_ += 1 + here_.size();
      for_each_ready(without, [&](std::uint32_t v) { again = follow_chain(v, peak, without) || again; });
    }
  }

 private:
  static constexpr std::size_t longest_chain = 24;

  static void flip(downset& set, std::uint32_t v) { set[v / 64] ^= std::uint64_t{1} << v % 64; }
  [[nodiscard]] static bool has(downset const& set, std::uint32_t v) { return (set[v / 64] >> v % 64 & 1) != 0; }
  // Calls `visit` with each operator of a set that is given by its words; a word is read before its operators are visited.
  template <class Word, class Visit>
  void for_each(Word const& word, Visit&& visit) const {
    for (std::size_t i = 0; i < here_.size(); ++i) {
      auto const w = backwards_ ? here_.size() - 1 - i : i;
      for (auto bits = word(w); bits != 0;) {
        auto const at = static_cast<std::uint32_t>(backwards_ ? 63 - std::countl_zero(bits) : std::countr_zero(bits));
        bits ^= std::uint64_t{1} << at;
        visit(static_cast<std::uint32_t>(64 * w) + at);
      }
    }
  }
  // Runs v, then of the operators that it released the one that adds least, and so on, until no more memory is in use than now.
  bool follow_chain(std::uint32_t v, std::int64_t peak, downset const& without) {
    work_ += 2 + (backwards_ ? p_.touched[v].size() : 0);
    if (sweep_.running(v) > peak) return false;
    auto const memory = sweep_.memory();
    auto const begin = path_.size();
    for (auto next = v; next != order_problem::none;) {
      run(next);
      if (sweep_.memory() <= memory) return true;
      if (path_.size() - begin == longest_chain) break;
      auto const last = next;
      next = order_problem::none;
      std::int64_t least = 0;
      for (auto const u : sweep_.next(last)) {
        if (!sweep_.ready(u) || has(without, u) || sweep_.running(u) > peak) continue;
        auto const change = sweep_.change(u);
        work_ += 1 + 2 * p_.touched[u].size();
        if (next == order_problem::none || change < least) next = u, least = change;
      }
    }
    take_back(begin);
    return false;
  }

  order_problem const& p_;
  bool backwards_;
  order_sweep<> sweep_;
  downset ready_, here_;  // operators that are ready, and that have run
  operator_order path_;
  std::uint64_t work_ = 0;
};

}  // namespace ballast::inline v0_2::detail
