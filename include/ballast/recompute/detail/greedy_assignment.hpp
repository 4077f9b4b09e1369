// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/recompute/detail/choice_problem.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The greedy selection for given prices.

namespace ballast::inline v0_2::detail {

/// How many items of each class take each choice, with the totals.
struct assignment {
  std::vector<std::vector<std::int64_t>> copies;
  std::int64_t memory = 0, time = 0, transfer = 0;

  void take(std::size_t k, std::size_t j, choice const& o, std::int64_t n) {
    copies[k][j] += n;
    memory += n * o.memory;
    time += n * o.time;
    transfer += n * o.transfer;
  }
};

/// Takes the cheapest choices, then upgrades in order of gain per unit of memory.
template <class = when_called>
[[nodiscard]] inline assignment greedy_assignment(choice_problem const& p, prices const& at) {
  struct move {
    std::int64_t gain, memory;
    std::size_t k, from, to;
  };
  assignment a;
  a.copies.resize(p.classes.size());
  auto const fits = memory_at(p, at) <= p.slack;
  std::vector<move> moves;
  for (std::size_t k = 0; k < p.classes.size(); ++k) {
    auto const& c = p.classes[k];
    a.copies[k].assign(c.choices.size(), 0);
    auto const base = fits ? at.cheapest(c) : 0;
    a.take(k, base, c.choices[base], c.count);
    for (std::size_t j = 0; j < c.choices.size(); ++j) {
      auto const gain = at.timed(c.choices[base]) - at.timed(c.choices[j]);
      if (gain > 0) moves.push_back({gain, c.choices[j].memory - c.choices[base].memory, k, base, j});
    }
  }
  std::sort(moves.begin(), moves.end(), [](move const& x, move const& y) {
    if ((x.memory <= 0) != (y.memory <= 0)) return x.memory <= 0;
    auto const order = compare_products(x.gain, y.memory, y.gain, x.memory);
    if (x.memory > 0 && order != 0) return order > 0;
    if (x.memory != y.memory) return x.memory > y.memory;  // small upgrades then fill the memory that large ones leave
    return x.k != y.k ? x.k < y.k : x.to < y.to;
  });
  for (auto const& m : moves) {
    auto const &from = p.classes[m.k].choices[m.from], &to = p.classes[m.k].choices[m.to];
    auto n = a.copies[m.k][m.from];
    if (m.memory > 0) n = (std::min)(n, (p.slack - a.memory) / m.memory);
    auto const now = p.total(a.time, a.transfer);
    auto const after = [&](std::int64_t copies) {
      return p.total(a.time + copies * (to.time - from.time), a.transfer + copies * (to.transfer - from.transfer));
    };
    auto const link = to.transfer - from.transfer;
    if (link > 0 && a.transfer < p.window) {  // upgrade only as many as the link hides, if that is better than all
      auto const hidden = (std::min)(n, (p.window - a.transfer) / link);
      if (after(hidden) < after(n)) n = hidden;
    }
    if (n <= 0 || after(n) >= now) continue;
    a.take(m.k, m.from, from, -n);
    a.take(m.k, m.to, to, n);
  }
  return a;
}

/// Converts an assignment to its public form.
template <class = when_called>
[[nodiscard]] inline selection to_selection(choice_problem const& p, assignment const& a, std::int64_t lower_bound, std::size_t options,
                                            std::uint64_t operations) {
  selection out{.status = status::feasible,
                .time = {p.total(a.time, a.transfer), lower_bound},
                .memory = p.least + a.memory * p.unit,
                .transfer = a.transfer,
                .copies = std::vector<std::uint64_t>(options),
                .operations = operations};
  for (std::size_t k = 0; k < p.classes.size(); ++k)
    for (std::size_t j = 0; j < a.copies[k].size(); ++j)
      out.copies[p.classes[k].choices[j].option] = static_cast<std::uint64_t>(a.copies[k][j]);
  return out;
}

}  // namespace ballast::inline v0_2::detail
