// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/packing/raise_pack_count.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// The parts that all packers of several measures share: validation, the over-size policy, the limit of samples per pack (as a measure that
// is 1 for every sample), the demanded number of packs and the certificate.

namespace ballast::inline v0_2::detail {

/// The input of a packer: only samples that fit. A limit of samples per pack is a last measure that is 1 for every sample.
template <index_type Index>
struct vector_items {
  measure_classes const& classes;
  std::span<Index const> order;            ///< samples, class after class, ascending in each
  std::span<std::uint64_t const> begin;    ///< position in `order` at which each class begins; classes + 1 entries
  std::span<std::int64_t const> capacity;  ///< capacity of one pack in each measure of `classes`
  std::uint64_t seed;
};

/// Appends the packs of patterns of the items' classes.
template <index_type Index>
void expand_all(pack_patterns const& patterns, vector_items<Index> const& items, groups<Index>& packs) {
  packs.members.reserve(packs.members.size() + items.order.size());
  packs.offsets.reserve(packs.offsets.size() + static_cast<std::size_t>(patterns.packs()));
  expand(patterns, {items.begin.begin(), items.begin.end() - 1}, items.order.data(), packs);
}

/// Validates, applies the over-size policy, calls `solve(items, out)` and certifies. `solve` fills `out.packs`, without empty packs. It may
/// clear `out.complete`, and may write its own lower bound to `out.count.lower_bound`, `out.bound` and `out.measure`; then no other bound
/// is computed.
template <index_type Index, class Solve>
[[nodiscard]] vector_packing<Index> drive(sample_measures const& samples, vector_packing_options const& o, vector_packer packer,
                                          Solve const& solve) {
  ballast::require_valid(samples, o);
  ballast::require_valid(samples);
  auto const n = samples.size(), k = samples.measures();
  require_index<Index>(n, "samples");

  std::vector<bool> too_large(n, false);
  std::vector<Index> alone;
  vector_packing<Index> out;
  out.packer = packer;
  for (std::size_t m = 0; m < k; ++m)
    for (std::size_t i = 0; i < n; ++i) {
      if (samples.column(m)[i] <= o.capacity[m]) continue;
      require(o.oversize != oversize::reject, [&] {
        return sentence("measures[", m, "][", i, "] = ", samples.column(m)[i], " exceeds ", entry("capacity", m, o.capacity[m]),
                        " (see oversize policy)");
      });
      too_large[i] = true;
    }
  for (std::size_t i = 0; i < n; ++i)
    if (too_large[i]) (o.oversize == oversize::alone ? alone : out.set_aside).push_back(static_cast<Index>(i));

  auto const sorted = classify<Index>(samples, o.max_samples != 0, [&](std::size_t i) { return !too_large[i]; });
  auto capacity = o.capacity;
  if (o.max_samples != 0)
    capacity.push_back(static_cast<std::int64_t>((std::min)(o.max_samples, std::uint64_t{(std::numeric_limits<std::int64_t>::max)()})));
  solve(vector_items<Index>{sorted.classes, sorted.order, sorted.begin, capacity, o.seed}, out);

  auto const found = static_cast<std::int64_t>(out.packs.size());
  if (out.bound == vector_bound::none && found > 0)
    if (auto const bound = vector_lower_bound(sorted.classes, capacity, found); bound.packs > 0) {
      out.count.lower_bound = bound.packs;
      out.bound = bound.bound;
      out.measure = bound.measure;
    }
  out.count.lower_bound += static_cast<std::int64_t>(alone.size());
  for (auto i : alone) out.packs.push_back(std::span(&i, 1));

  for (std::size_t m = 0; m < k; ++m) {
    out.totals.push_back(sorted.classes.total(m));
    for (auto i : alone) out.totals[m] += samples.column(m)[i];
  }
  auto const verdict = judge_count(out.packs.size(), out.packs.members.size(), out.count.lower_bound, out.bound, o.pack_count_multiple, 0);
  out.status = verdict.status;
  out.count = verdict.count;
  out.bound = verdict.bound;
  if (verdict.status == status::feasible) {
    (void)raise_pack_count(out.packs, static_cast<std::size_t>(verdict.count.value), [&](Index i) { return samples.column(k - 1)[i]; });
  } else {
    out.packs.clear();
    out.totals.assign(k, 0);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
