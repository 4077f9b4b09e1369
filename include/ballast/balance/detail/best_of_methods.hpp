// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/refine.hpp>

#include <cstddef>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Whether `b` is better than `a`: a plan instead of none, fewer items set aside, or a smaller largest load.
template <index_type Index>
[[nodiscard]] bool beats(balanced_sets<Index> const& b, balanced_sets<Index> const& a) {
  if (b.status != status::feasible || a.status != status::feasible) return a.status == status::unknown && b.status != status::unknown;
  if (b.set_aside.size() != a.set_aside.size()) return b.set_aside.size() < a.set_aside.size();
  return b.load.value < a.load.value;
}

/// Tries one method after the other on a prepared problem, and keeps the best plan in `out`.
template <index_type Index>
class best_of_methods {
 public:
  best_of_methods(deal<Index>& d, balance_options const& o, balanced_sets<Index>& out, balanced_sets<Index>& candidate)
      : d_(d), o_(o), out_(out), candidate_(candidate) {
    out_.status = status::unknown;
  }
  /// Deals by `method`, refines the plan if it is the best so far or `hopeful`, and returns whether no better plan is possible.
  template <class Method>
  [[nodiscard]] bool decides(Method const& method, bool hopeful, bool by_size = false) {
    method();
    if (by_size) d_.sort_by(d_.cost);  // items are sorted by cost before and after each method
    finish(d_, o_.misfit, candidate_);
    if (candidate_.status == status::feasible && !candidate_.load.optimal() && (hopeful || beats(candidate_, out_))) {
      for (std::size_t s = 0; s < candidate_.sets.size(); ++s) d_.count[s] = candidate_.sets[s].size();
      refine(d_, candidate_.load.lower_bound);
      finish(d_, misfit::set_aside, candidate_);
    }
    if (first_ || beats(candidate_, out_)) std::swap(candidate_, out_);
    first_ = false;
    return out_.status == status::infeasible || (out_.status == status::feasible && out_.set_aside.empty() && out_.load.optimal());
  }

 private:
  deal<Index>& d_;
  balance_options const& o_;
  balanced_sets<Index>&out_, &candidate_;
  bool first_ = true;
};

}  // namespace ballast::inline v0_2::detail
