// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/packing.hpp>

#include "runs.hpp"

namespace plan_hashes {

using namespace ballast;

namespace {

struct packing_variant {
  std::string name;
  packing_options options;
};
std::vector<packing_variant> variants_of(lengths_case const& c) {
  packing_options const plain{.capacity = c.capacity};
  std::vector<packing_variant> out(5, {"", plain});
  out[0].name = "plain";
  out[1].name = "max_samples=3";
  out[1].options.max_samples = 3;
  out[1].options.seed = 7;
  out[2].name = "multiples=8,64";
  out[2].options.sample_multiple = 8;
  out[2].options.pack_multiple = 64;
  out[2].options.oversize = oversize::set_aside;
  out[3].name = "pack_count_multiple=8";
  out[3].options.pack_count_multiple = 8;
  out[3].options.seed = 8;
  out[4].name = "pack_count=n*3/5";
  out[4].options.pack_count = c.lengths.size() * 3 / 5;
  return out;
}

template <class Cost>
void pack_by_all(std::string const& name, numbers const& lengths, packing_options const& o, Cost const& cost) {
  show("best_fit", name, best_fit(lengths, o, cost));
  show("best_fit_decreasing", name, best_fit_decreasing(lengths, o, cost));
  show("first_fit", name, first_fit(lengths, o, cost));
  show("first_fit_decreasing", name, first_fit_decreasing(lengths, o, cost));
  show("worst_fit", name, worst_fit(lengths, o, cost));
  show("next_fit", name, next_fit(lengths, o, cost));
  show("best_fit_shuffled", name, best_fit_shuffled(lengths, o, cost));
  show("first_fit_shuffled", name, first_fit_shuffled(lengths, o, cost));
  show("windowed_best_fit_decreasing", name, windowed_best_fit_decreasing(lengths, 64, o, cost));
  show("near_optimal", name, near_optimal(lengths, o, cost, {.work = 200'000}));
  show("pack_with_search", name, pack(lengths, o, cost, search_limits{}));
}

}  // namespace

void packing() {
  for (auto const& c : data_cases())
    for (auto const& [what, options] : variants_of(c)) pack_by_all(std::string(c.name) + ',' + what, c.lengths, options, token_cost{});

  auto const above = uniform(300, 1, 2500, 5);
  for (auto const& [what, policy] : {std::pair{"set_aside", oversize::set_aside},
                                     {"truncate", oversize::truncate},
                                     {"split", oversize::split},
                                     {"alone", oversize::alone}}) {
    pack_by_all(std::string("above,") + what, above, {.capacity = 1000, .oversize = policy}, token_cost{});
    pack_by_all(std::string("above,max_samples=2,multiples=16,32,") + what, above,
                {.capacity = 1000, .max_samples = 2, .sample_multiple = 16, .pack_multiple = 32, .oversize = policy}, token_cost{});
  }
  auto const tailed = long_tailed(700, 4096, 6);
  pack_by_all("long_tailed,linear_cost", tailed, {.capacity = 9000}, linear_cost{.per_token = 2, .per_sample = 16});
  pack_by_all("long_tailed,quadratic_cost,alone", tailed, {.capacity = 4'000'000, .max_samples = 9, .oversize = oversize::alone},
              quadratic_cost{.linear = 6, .quadratic = 1});

  std::vector<std::int32_t> const narrow(tailed.begin(), tailed.end());
  show("best_fit_decreasing", "long_tailed,int32", best_fit_decreasing(narrow, {.capacity = 4096}));
  show("best_fit_decreasing", "long_tailed,uint64", best_fit_decreasing<std::uint64_t>(tailed, {.capacity = 4096}));
  show("pack_with_search", "long_tailed,uint64", pack<std::uint64_t>(tailed, {.capacity = 4096}, search_limits{}));
  auto const many = long_tailed(20'000, 2048, 7);
  show("best_fit_decreasing", "20000", best_fit_decreasing(many, {.capacity = 4096}));
  show("pack_with_search", "20000", pack(many, {.capacity = 4096}, search_limits{}));
  auto const hard = triplets(60, 3000, 8);
  show("near_optimal", "triplets,work=4000000", near_optimal(hard, {.capacity = 3000}, {.work = 4'000'000}));
  show("near_optimal", "triplets,gap=0.05", near_optimal(hard, {.capacity = 3000}, {.work = 4'000'000, .gap = 0.05}));

  for (auto const& c : data_cases()) {
    auto packs = next_fit(c.lengths, {.capacity = c.capacity, .max_samples = 2}).packs;
    auto const raised = raise_pack_count(packs, c.lengths.size() * 4 / 5, [&](std::uint32_t i) { return c.lengths[i]; });
    show("raise_pack_count", c.name, raised, packs);
    groups<> partly;
    std::vector<std::uint32_t> spare;
    for (std::uint32_t i = 0; i < c.lengths.size(); ++i)
      if (i % 3 == 0)
        partly.push_back(std::vector{i});
      else
        spare.push_back(i);
    auto const stay = greedy_fill<std::uint32_t>(partly, c.lengths, c.capacity, spare);
    show("greedy_fill", c.name, stay, partly);
  }
}

void runs() {
  for (auto const& c : data_cases()) {
    auto const classes = fold(c.lengths);
    show("volume_bound", c.name, volume_bound(classes, c.capacity));
    show("cardinality_bound", c.name, cardinality_bound(classes, 3));
    show("martello_toth_bound", c.name, martello_toth_bound(classes, c.capacity));
    show("packing_lower_bound", c.name, packing_lower_bound(classes, c.capacity, 4));
    for (auto const& [what, options] : variants_of(c)) {
      auto const name = std::string(c.name) + ',' + what;
      show("count_packs", name, count_packs(classes, options));
      show("count_near_optimal", name, count_near_optimal(classes, options, {.work = 200'000}));
      show("count_packs_of_pack", name, count_packs(classes, options, search_limits{}));
    }
    packing_options const plain{.capacity = c.capacity, .sample_multiple = 4};
    auto const runs = plan_best_fit_decreasing(classes, plain);
    show("plan_best_fit_decreasing", c.name, runs);
    show("expand", c.name, expand(runs, c.lengths));
    show("expand", std::string(c.name) + ",order", expand(runs, c.lengths, random_permutation(c.lengths.size(), 9)));
    show("place", c.name, place(runs, c.lengths));
    show("plan_near_optimal", c.name, plan_near_optimal(classes, plain, {.work = 200'000}));
    auto const split = packing_options{.capacity = c.capacity / 2, .oversize = oversize::split};
    show("member_lengths", c.name, apply_oversize(c.lengths, split).tokens);
  }
}

void layout() {
  for (auto const& c : data_cases()) {
    auto const packs = best_fit_decreasing(c.lengths, {.capacity = c.capacity}).packs;
    show("cu_seqlens", c.name, cu_seqlens(packs, c.lengths));
    auto const padded = cu_seqlens<std::int64_t>(packs, c.lengths, 16);
    show("cu_seqlens", std::string(c.name) + ",multiple=16", padded);
    if (packs.empty()) continue;
    auto const cu = cu_seqlens(packs[0], c.lengths);
    auto const wide = cu_seqlens(packs[0], c.lengths, 16);
    show("max_seqlen", c.name, max_seqlen(padded));
    show("position_ids", c.name, position_ids(cu));
    show("segment_ids", c.name, segment_ids(cu));
    show("segment_ids", std::string(c.name) + ",padded", segment_ids(cu, wide, static_cast<std::size_t>(wide.back()) + 5));
    show("zigzag_indices", c.name, zigzag_indices(wide, zigzag{.ranks = 8}, 3));
    show("zigzag_inverse", c.name, zigzag_inverse(wide, zigzag{.ranks = 8}));
  }
  std::vector<std::int32_t> const ids{1, 1, 1, 2, 2, 0, 3, 3, 0, 0};
  show("dense_document_mask", "causal", dense_document_mask(std::span(ids)));
  show("dense_document_mask", "both_ways", dense_document_mask(std::span(ids), false));
}

}  // namespace plan_hashes
