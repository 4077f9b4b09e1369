// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance.hpp>

#include "show.hpp"

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, balanced_sets<Index> const& b) {
  put(d, b.status, b.sets, b.load, b.bound, b.set_aside);
}
inline void put(digest& d, balance_run const& r) { put(d, r.item_class, r.set, r.count); }
inline void put(digest& d, balance_runs const& b) { put(d, b.runs, b.loads, b.load, b.bound); }
inline void put(digest& d, load_bound const& b) { put(d, b.load, b.bound); }

namespace {

template <class Cost>
void balance_by_all(std::string const& name, numbers const& items, balance_options const& o, Cost const& cost) {
  show("balance", name, ballast::balance(items, o, cost));
  show("karmarkar_karp", name, karmarkar_karp(items, o, cost));
  show("longest_processing_time", name, longest_processing_time(items, o, cost));
  show("rate_matching", name, rate_matching(items, o, cost));
  show("snake", name, snake(items, o, cost));
  balance_workspace<std::uint32_t> workspace;
  auto dealt = snake(items, o, cost);
  if (dealt.status == status::feasible) refine(items, o, cost, token_cost{}, workspace, dealt, {.rounds = 40});
  show("refine", name, dealt);
}

}  // namespace

void balance() {
  for (auto const& c : data_cases()) {
    std::int64_t total = 0;
    for (auto const l : c.lengths) total += l;
    std::pair<std::string, balance_options> const variants[] = {
        {"plain", {.sets = 7}},
        {"equal_counts", {.sets = 10, .equal_counts = true}},
        {"max_items", {.sets = 9, .max_items = c.lengths.size() / 9 + 2}},
        {"capacity", {.sets = 8, .capacity = total / 8 + c.capacity / 4 + 1}},
        {"set_aside", {.sets = 8, .capacity = total / 9 + 1, .misfit = misfit::set_aside, .target = rate_target::capacity}}};
    for (auto const& [what, o] : variants) {
      balance_by_all(std::string(c.name) + ',' + what, c.lengths, o, token_cost{});
      balance_by_all(std::string(c.name) + ',' + what + ",quadratic_cost", c.lengths, o, square);
    }
    auto const classes = fold(c.lengths);
    show("bulk_longest_processing_time", std::string(c.name) + ",classes", bulk_longest_processing_time(classes, 7, square));
    show("bulk_longest_processing_time", c.name, bulk_longest_processing_time(c.lengths, 7, square));
    auto const size = linear_cost{.per_token = 0, .per_sample = 3};
    balance_options const sized{.sets = 8, .capacity = static_cast<std::int64_t>(c.lengths.size()) / 8 * 3 + 30};
    show("balance", std::string(c.name) + ",size", ballast::balance(c.lengths, sized, square, size));
    show("rate_matching", std::string(c.name) + ",size", rate_matching(c.lengths, sized, square, token_cost{}, size));
    show("capacity_bound", c.name, capacity_bound(c.lengths, c.lengths, 8, total / 8 + 1));
    auto descending = c.lengths;
    std::sort(descending.rbegin(), descending.rend());
    show("balance_lower_bound", c.name, balance_lower_bound(descending, 7));
  }
}

}  // namespace plan_hashes
