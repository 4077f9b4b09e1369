// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Writes the samples of runs, whose classes are in the workspace, into their sets: of equal samples the lower indices to the lower sets.
template <index_type Index, length_range R>
void expand_sets(R const& lengths, balance_runs const& runs, bulk_balance_workspace& ws, groups<Index>& out) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const k = runs.loads.size();
  auto const& classes = ws.classes;
  auto& offsets = out.offsets;
  offsets.assign(k + 1, 0);
  for (auto const& r : runs.runs) offsets[r.set + 1] += r.count;
  for (std::size_t s = 0; s < k; ++s) offsets[s + 1] += offsets[s];
  auto& next = ws.next;
  auto& last = ws.last;
  auto& used = ws.used;
  next.resize(runs.runs.size());
  used.assign(offsets.begin(), offsets.end() - 1);
  auto& first = ws.first_run;
  first.resize(classes.lengths.size());
  last.resize(runs.runs.size());
  for (std::size_t r = runs.runs.size(); r-- > 0;) first[static_cast<std::size_t>(runs.runs[r].item_class)] = r;
  for (std::size_t r = 0; r < runs.runs.size(); ++r) {
    next[r] = used[runs.runs[r].set];
    used[runs.runs[r].set] += runs.runs[r].count;
    last[r] = used[runs.runs[r].set];
  }

  auto const at = read_by_position(lengths);
  auto const longest = classes.lengths.empty() ? 0 : classes.lengths.back();
  auto const by_table = longest <= longest_for_a_table(n);
  if (by_table) {
    ws.class_of.resize(static_cast<std::size_t>(longest) + 1);
    for (std::size_t c = 0; c < classes.lengths.size(); ++c)
      ws.class_of[static_cast<std::size_t>(classes.lengths[c])] = static_cast<std::uint32_t>(c);
  }
  out.members.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const c =
        by_table
            ? std::size_t{ws.class_of[static_cast<std::size_t>(length)]}
            : static_cast<std::size_t>(std::lower_bound(classes.lengths.begin(), classes.lengths.end(), length) - classes.lengths.begin());
    auto& r = first[c];
    if (next[static_cast<std::size_t>(r)] == last[static_cast<std::size_t>(r)]) ++r;
    out.members[static_cast<std::size_t>(next[static_cast<std::size_t>(r)]++)] = static_cast<Index>(i);
  }
}

}  // namespace ballast::inline v0_2::detail
