// SPDX-License-Identifier: Apache-2.0
#include "figures.hpp"

#include "planning/distributions.hpp"
#include "planning/packers.hpp"
#include "planning/rank_order.hpp"

#include <ballast/balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/layout.hpp>
#include <ballast/loss.hpp>
#include <ballast/methods/omnibal.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

namespace figures {

using ballast_cli::strategy;

std::vector<numbers> rows_like(std::string_view name, std::uint64_t samples) {
  std::vector<numbers> out;
  for (auto const& d : ballast_cli::distributions()) {
    if (d.name != name) continue;
    auto const all = ballast_cli::draw(d, samples, 1);
    auto const columns = static_cast<std::ptrdiff_t>(d.columns.size());
    for (auto row = all.begin(); row != all.end(); row += columns) out.emplace_back(row, row + columns);
  }
  return out;
}

numbers lengths_like(std::string_view name, std::uint64_t samples) {
  numbers out;
  for (auto const& row : rows_like(name, samples)) out.push_back(std::accumulate(row.begin(), row.end(), std::int64_t{0}));
  return out;
}

namespace {

numbers tokens_of(std::span<std::uint32_t const> pack, numbers const& lengths) {
  numbers out;
  for (auto const i : pack) out.push_back(lengths[i]);
  return out;
}

ballast::packing<> run_packer(strategy which, numbers const& lengths, std::int64_t capacity) {
  return ballast_cli::run_packer<std::uint32_t>(which, lengths, {.capacity = capacity});
}

}  // namespace

void packing(writer& show) {
  auto lengths = lengths_like("long-context-sft", 2000);
  for (auto& l : lengths) l = (std::min)(l, std::int64_t{32768});
  auto const total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  auto const show_packs = [&](std::string const& name, strategy which) {
    auto const plan = run_packer(which, lengths, 32768);
    std::vector<numbers> some;  // packs, evenly chosen, longest sample first
    for (std::size_t p = 0; p < 24; ++p) {
      some.push_back(tokens_of(plan.packs[p * plan.packs.size() / 24], lengths));
      std::ranges::sort(some.back(), std::ranges::greater());
    }
    show("packing." + name, some);
    show("packing." + name + ".count", numbers{plan.count.value, plan.count.lower_bound, total});
  };
  show_packs("next_fit", strategy::next_fit);
  show_packs("first_fit", strategy::first_fit);
  show_packs("pack", strategy::automatic);
}

void near_optimal(writer& show) {
  std::vector<numbers> found;
  for (auto const& [low, high] : {std::pair(200, 500), {150, 650}, {250, 375}, {300, 500}, {100, 350}, {10, 200}}) {  // of the capacity
    ballast::splitmix64 draw(1);
    numbers lengths;
    for (int i = 0; i < 1000; ++i)
      lengths.push_back((8192 * low + 999) / 1000 +
                        static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(8192 * (high - low) / 1000), draw)));
    auto const best_fit = run_packer(strategy::bfd, lengths, 8192).count;
    auto const searched = run_packer(strategy::automatic, lengths, 8192).count;
    found.push_back({low, high, best_fit.value, searched.value, searched.lower_bound});
  }
  show("near_optimal.sets", found);
}

void omnibal(writer& show) {
  numbers tiles, tokens;
  for (auto const& row : rows_like("vlm-sft", 3000)) {
    tokens.push_back(row[0]);
    tiles.push_back(row[1]);
  }
  std::array<std::int64_t, 2> const capacity{9, 4096};
  ballast::sample_measures const samples{tiles, tokens};
  auto const show_ranks = [&](std::string const& name, ballast::groups<> const& packs) {
    std::vector<numbers> shares;  // of the mean rank of the step, in thousandths
    for (std::size_t p = 0; p + 8 <= packs.size() && shares.size() < 16 * 8; p += 5 * 8) {
      std::vector<numbers> step;
      numbers sum{0, 0};
      for (std::size_t r = 0; r < 8; ++r) {
        numbers rank{0, 0};
        for (auto const i : packs[p + r]) {
          rank[0] += tiles[i];
          rank[1] += tokens[i];
        }
        for (std::size_t m = 0; m < 2; ++m) sum[m] += rank[m];
        step.push_back(rank);
      }
      for (auto const& rank : step) shares.push_back({rank[0] * 8000 / sum[0], rank[1] * 8000 / sum[1]});
    }
    show("omnibal." + name, shares);
  };
  ballast::vector_packing_options const o{.capacity = {9, 4096}};
  show_ranks("published", ballast::omnibal::pack_data({tiles, tokens, {}}).packing.packs);
  auto packs = ballast_cli::run_packer<std::uint32_t>(strategy::automatic, samples, o).packs;
  ballast_cli::order_for_ranks(packs, samples, capacity, 8, 0);
  show_ranks("plan", packs);
}

void layout(writer& show) {
  numbers const lengths{13, 24, 6, 15};
  std::vector<std::uint32_t> const pack{0, 1, 2, 3};
  auto const cu = ballast::cu_seqlens(pack, lengths, 4);
  show("layout.cu_seqlens", numbers(cu.begin(), cu.end()));
  numbers rank_of(static_cast<std::size_t>(cu.back()));
  for (std::int64_t r = 0; r < 2; ++r)
    for (auto const token : ballast::zigzag_indices(cu, {.ranks = 2}, r)) rank_of[static_cast<std::size_t>(token)] = r;
  show("layout.lengths", lengths);
  show("layout.rank_of", rank_of);
}

void balance(writer& show) {
  auto const all = lengths_like("reasoning-rollouts", 12800);
  auto const cost = ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b"));
  std::vector<numbers> over(6);
  for (std::size_t i = 0; i < 50; ++i) {
    std::span const items(all.data() + i * 256, 256);
    ballast::balance_options const o{.sets = 16};
    auto const note = [&](std::size_t method, ballast::certificate load) { over[method].push_back(millionths(load.gap(), 1)); };
    auto const dealt = [&] {
      std::vector<std::int64_t> load(16);
      for (std::size_t k = 0; k < items.size(); ++k) load[k % 16] += cost(items[k]);
      return *std::max_element(load.begin(), load.end());
    }();
    auto const best = ballast::balance(items, o, cost);
    note(0, {dealt, best.load.lower_bound});
    note(1, ballast::snake(items, o, cost).load);
    note(2, ballast::rate_matching(items, o, cost).load);
    note(3, ballast::longest_processing_time(items, o, cost).load);
    note(4, ballast::karmarkar_karp(items, o, cost).load);
    note(5, best.load);
  }
  show("balance.over", over);
}

void loss(writer& show) {
  // A step of 48 micro-batches of four conversations, of which a share that differs by conversation has labels.
  ballast::splitmix64 draw(1);
  std::vector<numbers> batches(48);
  numbers all;
  for (auto const length : lengths_like("chat-sft", 4 * batches.size())) {
    auto const labels = 1 + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(length), draw));
    batches[all.size() / 4].push_back(labels);
    all.push_back(labels);
  }
  auto const weight_of = [&](ballast::loss_normaliser const& by, ballast::gradient_path const& path, numbers const& counts,
                             ballast::loss_totals const& step) {
    return ballast::loss_weights(counts, step, by, path, ballast::loss_totals_of(counts, by)).front();
  };
  auto const right = ballast::loss_normaliser::token_mean(), naive = ballast::loss_normaliser::token_mean(ballast::loss_scope::micro_batch);
  auto const totals = ballast::loss_totals_of(all, right);
  std::vector<numbers> weights;  // labels of a micro-batch; weight of a token over 1 / labels of the step, in millionths: naive, right
  for (auto const& counts : batches) {
    auto const labels_of_step = static_cast<double>(totals.tokens());
    weights.push_back({std::accumulate(counts.begin(), counts.end(), std::int64_t{0}),
                       millionths(labels_of_step * weight_of(naive, {}, counts, totals) / 48, 1),
                       millionths(labels_of_step * weight_of(right, {}, counts, totals), 1)});
  }
  show("loss.weights", weights);
}

}  // namespace figures
