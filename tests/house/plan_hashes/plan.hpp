// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/plan/balance_report.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/plan_data.hpp>

#include "results.hpp"

// What plans of data consist of. The plan has a line of its own, each part of the comparison too.

namespace plan_hashes {

inline void put(digest& d, ballast::plan_figures const& f) { put(d, f.packs, f.steps, f.tokens, f.loads); }
template <class Index>
void put(digest& d, ballast::dominant_sample<Index> const& s) {
  put(d, s.sample, s.step, s.tokens);
}
template <class Index>
void put(digest& d, ballast::balance_report<Index> const& l) {
  put(d, l.bound, l.dominated, l.samples, l.micro_batches);
}
template <class Index>
void show_data(std::string const& prefix, std::string const& name, ballast::data_plan<Index> const& plan,
               ballast::data_plan_options const& options) {
  auto const compared = compare_with_usual(plan, options, 1.0);
  show(prefix + "plan_data", name, plan.steps, plan.samples.tokens, plan.samples.set_aside, plan.samples.pieces);
  show(prefix + "plan_data.packs", name, plan.packs, plan.bound);
  show(prefix + "plan_data.planned", name, compared.planned);
  show(prefix + "plan_data.naive", name, compared.naive);
  show(prefix + "plan_data.usual", name, compared.usual);
  show(prefix + "plan_data.limits", name, report_balance(plan.steps, plan.samples, options.steps));
}

}  // namespace plan_hashes
