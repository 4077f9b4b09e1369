// SPDX-License-Identifier: Apache-2.0
#include "planning/padded_plan.hpp"

#include "errors.hpp"

#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/padded_batches.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/figures.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace ballast_cli {

template <class Index>
ballast::groups<Index> next_fit_padded(std::span<std::int64_t const> lengths, ballast::packing_options const& o) {
  ballast::groups<Index> batches;
  std::vector<Index> open;
  std::int64_t longest = 0;
  auto const most = o.capacity - o.capacity % o.sample_multiple;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > most && o.oversize == ballast::oversize::set_aside) continue;
    auto const row = (std::min)(ballast::round_up((std::min)(lengths[i], most), o.sample_multiple), most);
    auto const padded = (std::max)(longest, row);
    auto const full = o.max_samples != 0 && open.size() == o.max_samples;
    if (!open.empty() && (full || std::cmp_greater_equal(open.size(), o.capacity / padded))) {
      batches.push_back(std::exchange(open, {}));
      longest = 0;
    }
    longest = (std::max)(longest, row);
    open.push_back(static_cast<Index>(i));
  }
  if (!open.empty()) batches.push_back(open);
  return batches;
}

template ballast::groups<std::uint32_t> next_fit_padded(std::span<std::int64_t const>, ballast::packing_options const&);
template ballast::groups<std::uint64_t> next_fit_padded(std::span<std::int64_t const>, ballast::packing_options const&);

namespace {

/// Samples that have a place in batches, with the batches over them alone.
struct padded_samples {
  ballast::packing<> packed;
  std::vector<std::int64_t> tokens;  ///< of those that have a place, as far as they are not cut
  std::vector<std::uint32_t> kept;   ///< their numbers
  ballast::groups<> batches;         ///< of places in `kept`
};
[[nodiscard]] padded_samples batches_of(std::span<std::int64_t const> lengths, ballast::packing_options const& pack) {
  padded_samples out{.packed = ballast::padded_batches(lengths, pack), .tokens = {}, .kept = {}, .batches = {}};
  auto const& aside_of = out.packed.set_aside;
  std::vector<std::uint32_t> place(lengths.size());
  for (std::size_t i = 0, aside = 0; i < lengths.size(); ++i) {
    if (aside < aside_of.size() && aside_of[aside] == i) {
      ++aside;
      continue;
    }
    place[i] = static_cast<std::uint32_t>(out.kept.size());
    out.kept.push_back(static_cast<std::uint32_t>(i));
    out.tokens.push_back((std::min)(lengths[i], pack.capacity - pack.capacity % pack.sample_multiple));
  }
  out.batches = out.packed.packs;
  for (auto& i : out.batches.members) i = place[i];
  return out;
}
[[nodiscard]] ballast::packing_options packing_of(ballast::data_plan_options const& options, std::int64_t multiple) {
  return {
      .capacity = options.steps.capacity, .max_samples = options.max_samples, .sample_multiple = multiple, .oversize = options.oversize};
}

/// Batches of samples that have a place, dealt to steps. Packs that are split for a full last step have less padding, so they are dealt
/// again with it.
[[nodiscard]] ballast::data_plan<> deal_padded(ballast::groups<> batches, std::vector<std::int64_t> const& tokens, std::int64_t multiple,
                                               ballast::batching_options const& o, timed_cost const& cost,
                                               ballast::deal_options const& how) {
  ballast::data_plan<> out;
  for (auto again = 0; again < 2; ++again) {
    auto& padded = out.samples.tokens = ballast::padded_lengths(batches, tokens, multiple);
    out.samples.cost.clear();
    for (auto const length : padded) out.samples.cost.push_back(cost(length));
    auto const samples = ballast::weigh(padded, o, cost);
    out.samples.all_tokens = samples.all_tokens;
    out.samples.all_cost = samples.all_cost;
    out.steps = ballast::deal_steps(batches, samples, o, how);
    if (out.steps.packs.size() == batches.size()) break;
    batches = out.steps.packs;
  }
  return out;
}

}  // namespace

padded_plan plan_padded(std::span<std::int64_t const> lengths, ballast::data_plan_options const& options, std::int64_t multiple,
                        timed_cost& cost) {
  auto const pack = packing_of(options, multiple);
  auto const placed = batches_of(lengths, pack);
  auto const& tokens = placed.tokens;
  auto const& packed = placed.packed;
  auto const& kept = placed.kept;
  auto const& batches = placed.batches;
  cost.count_for(ballast::padded_lengths(batches, tokens, multiple), options.steps);

  auto planned = deal_padded(batches, tokens, multiple, options.steps, cost, {.how = ballast::dealing::sorted, .window = 16});
  auto const usual = deal_padded(batches, tokens, multiple, options.steps, cost, {.how = ballast::dealing::random});
  auto limits = pack;
  limits.oversize = ballast::oversize::reject;
  auto const naive = deal_padded(next_fit_padded<std::uint32_t>(tokens, limits), tokens, multiple, options.steps, cost,
                                 {.how = ballast::dealing::in_order});
  auto const score = [&](ballast::data_plan<> const& plan) {
    auto figures = ballast::figures_of(plan.steps, plan.samples, options.steps, cost.ms_per_unit);
    std::int64_t filled = 0;
    for (auto const p : plan.steps.table)
      if (p != plan.steps.none)
        for (auto const i : plan.steps.packs[p]) filled += tokens[i];
    if (figures.packs != 0)
      figures.fill = static_cast<double>(filled) / (static_cast<double>(pack.capacity) * static_cast<double>(figures.packs));
    return figures;
  };
  padded_plan out{.made = {},
                  .compared = {.planned = score(planned), .naive = score(naive), .usual = score(usual)},
                  .usual_tokens = usual.samples.tokens,
                  .naive_tokens = naive.samples.tokens,
                  .others = {.naive = naive.steps, .usual = usual.steps}};
  planned.packs = {static_cast<std::int64_t>(out.compared.planned.packs), packed.count.lower_bound};
  planned.bound = packed.bound;
  auto of_kept = std::move(planned.samples);
  planned.samples = {};
  planned.samples.tokens.assign(lengths.begin(), lengths.end());
  planned.samples.cost.assign(lengths.size(), 0);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    planned.samples.tokens[kept[k]] = of_kept.tokens[k];
    planned.samples.cost[kept[k]] = of_kept.cost[k];
  }
  planned.samples.all_tokens = of_kept.all_tokens;
  planned.samples.all_cost = of_kept.all_cost;
  planned.samples.set_aside = packed.set_aside;
  ballast::renumber<std::uint32_t>(planned.steps, kept);
  out.made = std::move(planned);
  return out;
}

std::pair<ballast::data_plan<>, ballast::usual_batchings<>> padded_plan::with_rows_of_all() const {
  std::pair out(made, others);
  auto& rows = out.first.samples.tokens;
  for (auto const& [steps, tokens] : {std::pair{&out.second.usual, &usual_tokens}, {&out.second.naive, &naive_tokens}}) {
    for (auto& i : steps->packs.members) i += static_cast<std::uint32_t>(rows.size());
    rows.insert(rows.end(), tokens->begin(), tokens->end());
  }
  return out;
}

padded_data padded_data_of(std::span<std::int64_t const> lengths, ballast::data_plan_options const& options, std::int64_t multiple) {
  auto const of = batches_of(lengths, packing_of(options, multiple));
  auto const rows = ballast::padded_lengths(of.batches, of.tokens, multiple);
  padded_data out{.sizes = {}, .batches = static_cast<double>(of.batches.size())};
  auto& [mean, largest] = out.sizes;
  largest.tokens = options.steps.capacity;
  for (auto const& batch : ballast::shapes_of(of.batches, std::span<std::int64_t const>(rows))) {
    mean.tokens += batch.tokens;
    mean.squares += batch.squares;
    largest.squares = (std::max)(largest.squares, batch.squares);
  }
  auto const count = (std::max)(static_cast<std::int64_t>(of.batches.size()), std::int64_t{1});
  mean.tokens = ballast::divide_up(mean.tokens, count);
  mean.squares = ballast::divide_up(mean.squares, count);
  return out;
}

}  // namespace ballast_cli
