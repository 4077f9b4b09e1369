// SPDX-License-Identifier: Apache-2.0
// Executes layers of experts on ranks: rows go to copies of their experts as planned, and what is beyond the capacity is dropped. The
// gradient is that of one process that trains the same tokens. Drawn routers drop as many rows as `m6t::route` expects.
#include "data.hpp"
#include "run_experts.hpp"

#include <ballast/balance/check_replicated.hpp>
#include <ballast/methods/m6t.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

using namespace execute;

namespace {

ballast::transformer const shape{.hidden = 8, .gated = false, .expert_ffn = 6};

struct drawn_layers {
  mixture of;
  ballast::replication_options options;
  samples data;
};
drawn_layers draw_layers(std::uint64_t seed, bool prototypes, std::size_t vocabulary) {
  ballast::splitmix64 draw(seed);
  auto const below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(draw() % bound); };
  drawn_layers out;
  auto const width = 2 + below(5);
  auto& by = out.of.by;
  by.prototypes = prototypes ? 2 + below(2) : 1;
  by.active = prototypes ? 1 : 1 + below(static_cast<std::uint64_t>(std::min<std::int64_t>(3, width)));
  by.experts = by.prototypes * width;
  by.capacity = draw() % 4 == 0 ? 0 : 500 + below(1000);
  auto& options = out.options;
  options.ranks = 1 + draw() % 7;
  auto const experts = static_cast<std::uint64_t>(by.experts);
  auto const each = std::min(experts, (experts + options.ranks - 1) / options.ranks + draw() % 3);  // slots of a rank
  options.slots = each * options.ranks;
  if (options.ranks % 2 == 0 && draw() % 2 == 0) options.nodes = 2;
  if (options.nodes == 2 && experts % 2 == 0 && each <= experts / 2) options.groups = 2;
  out.data = draw_samples(options.ranks + draw() % 12, 12, vocabulary, seed);
  return out;
}

struct executed {
  numbers gradient;  // of the transformer, the routers and the experts
  std::vector<mixture_ranks::layer_run> layers;
};
executed run(transformer const& model, numbers const& p, numbers const& of_experts, drawn_layers const& drawn, bool one,
             mixture_ranks::spoiler const& spoil = {}) {
  std::vector<rank_pass> passes(one ? 1 : drawn.options.ranks);
  for (std::size_t rank = 0; rank < drawn.options.ranks; ++rank)
    for (auto i = rank; i < drawn.data.tokens.size(); i += drawn.options.ranks) {
      auto& pass = passes[one ? 0 : rank];
      pass.rank = one ? 0 : rank;
      pass.at.insert(pass.at.end(), drawn.data.tokens[i].begin(), drawn.data.tokens[i].end());
      pass.group.assign(pass.at.size(), alone);
    }
  std::vector<numbers> gradient(passes.size(), numbers(model.size()));
  numbers experts(of_experts.size());
  executed out{.gradient = numbers(model.size()), .layers = {}};
  mixture_alone in_one(drawn.of, of_experts, experts);
  mixture_ranks on_ranks(drawn.of, of_experts, experts, drawn.options, spoil);
  (void)rank_group(model, exchange::ring, one ? static_cast<sublayer*>(&in_one) : &on_ranks).train(p, passes, gradient);
  for (auto const& each : gradient)
    for (std::size_t i = 0; i < each.size(); ++i) out.gradient[i] += each[i];
  out.gradient.insert(out.gradient.end(), experts.begin(), experts.end());
  out.layers = std::move(on_ranks.layers);
  return out;
}

/// Whether rows, drops and bytes of a layer are those that the library counts, and a rank has its planned load within a row of each copy.
bool as_planned(outcome& to, drawn_layers const& drawn, mixture_ranks::layer_run const& run) {
  auto const tokens = static_cast<std::int64_t>(run.plan.expert_of.size() / drawn.of.rows_of_token());
  auto const work = ballast::m6t::route(tokens, drawn.of.by, shape).work;
  std::vector<std::int64_t> loads(drawn.of.experts()), kept(loads.size());
  std::int64_t computed = 0;
  for (std::size_t i = 0; i < run.plan.expert_of.size(); ++i) {
    ++loads[run.plan.expert_of[i]];
    kept[run.plan.expert_of[i]] += run.plan.place_of[i] != ballast::dropped_row;
  }
  auto const counted = ballast::count_routed_rows(loads, work.capacity);
  auto right = check_replicated(run.plan.where, kept, drawn.options).valid() && counted.kept <= work.rows;
  right = right && *std::max_element(kept.begin(), kept.end()) == counted.largest;
  for (std::size_t rank = 0; rank < run.rows.size(); ++rank) {
    auto const apart = std::abs(run.rows[rank] * ballast::row_units - run.plan.where.loads[rank]);
    right = right && apart < static_cast<std::int64_t>(drawn.options.slots / drawn.options.ranks) * ballast::row_units;
    computed += run.rows[rank];
  }
  to.add_bytes(ballast::expert_exchange_bytes(counted.kept, shape.hidden, sizeof(double)).total(), static_cast<std::int64_t>(run.bytes));
  return right && computed == counted.kept;
}

/// Leaves a copy out of the sum of gradients, sends a row to another expert, or changes what is dropped. False if there is no such row.
bool spoil(routing_plan& plan, std::uint64_t seed) {
  auto const experts = static_cast<std::uint32_t>(plan.where.copies.size());
  for (std::size_t i = 0; i < plan.place_of.size(); ++i) {
    auto &expert = plan.expert_of[i], &place = plan.place_of[i];
    auto const kept = place != ballast::dropped_row;
    if (seed % 3 == 0 && kept && plan.where.copies[expert] > 1 && place + 1 == plan.where.copies[expert])
      return --plan.where.copies[expert], true;
    if (seed % 3 == 1 && kept) return expert = (expert + 1) % experts, true;
    if (seed % 3 == 2) return place = kept ? ballast::dropped_row : 0, true;
  }
  return false;
}

/// Drops of routers that draw experts by weights 1 / (i + 1)^s: the scores are these weights over drawn times.
bool compare_drops(ballast::prototyped_routing const& by, std::int64_t halves) {
  constexpr std::int64_t tokens = 512;
  constexpr int times = 20;
  auto const expected = ballast::m6t::route(tokens, by, shape, halves);
  mixture const of{.by = by};
  ballast::splitmix64 draw(static_cast<std::uint64_t>(by.active + 10 * halves));
  auto const width = of.experts() / static_cast<std::size_t>(by.prototypes);
  double mean = 0, square = 0;
  for (int i = 0; i < times; ++i) {
    std::vector<std::uint32_t> expert_of;
    for (std::int64_t t = 0; t < tokens; ++t) {
      numbers scores;
      for (std::size_t e = 0; e < of.experts(); ++e) {
        auto const weight = std::pow(static_cast<double>(e % width + 1), -0.5 * static_cast<double>(halves));
        scores.push_back(weight / -std::log(static_cast<double>((draw() >> 11) + 1) * 0x1p-53));
      }
      auto const chosen = of.chosen(scores);
      expert_of.insert(expert_of.end(), chosen.begin(), chosen.end());
    }
    auto const places =
        ballast::clip_rows(expert_of, static_cast<std::uint32_t>(of.experts()), static_cast<std::uint32_t>(expected.work.capacity)).slot_of;
    auto const dropped = static_cast<double>(std::count(places.begin(), places.end(), ballast::dropped_row));
    mean += dropped / times;
    square += dropped * dropped / times;
  }
  auto const error = std::sqrt(std::max(0.0, square - mean * mean) / times),
             rows = static_cast<double>(tokens) * static_cast<double>(of.rows_of_token());
  std::cout << by.prototypes << " x top-" << by.active << " of " << by.experts << " experts, s = " << 0.5 * static_cast<double>(halves)
            << ": " << 100 * mean / rows << " % of the rows dropped, " << 1e-4 * static_cast<double>(expected.expected.drop_share)
            << " % expected\n";
  return std::abs(mean - 1e-3 * static_cast<double>(expected.expected.dropped)) <= 4 * error + 0.01;
}

}  // namespace

int main() {
  transformer const model;
  auto const p = model.initial();
  outcome of_kind[2] = {{.what = "top-k"}, {.what = "prototypes"}};
  std::size_t spoilt = 0, found = 0, copies = 0, dropped = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    auto const drawn = draw_layers(seed, seed % 2 == 1, model.vocabulary);
    numbers experts(model.layers * drawn.of.of_layer());
    for (std::size_t i = 0; i < experts.size(); ++i) experts[i] = std::sin(2.0 + 78.233 * static_cast<double>(i));
    auto const expected = run(model, p, experts, drawn, true).gradient;
    auto& to = of_kind[seed % 2];
    auto const got = run(model, p, experts, drawn, false);
    auto right = true;
    for (auto const& layer : got.layers) {
      right = as_planned(to, drawn, layer) && right;
      copies += layer.plan.where.expert_of.size() - drawn.of.experts();
      dropped += static_cast<std::size_t>(std::count(layer.plan.place_of.begin(), layer.plan.place_of.end(), ballast::dropped_row));
    }
    to.add(difference(got.gradient, expected), right);
    auto changed = false;
    auto const once = [&](std::size_t layer, routing_plan& plan) { changed = changed || (layer == 0 && spoil(plan, seed / 2)); };
    auto apart = true;
    try {
      apart = !(difference(run(model, p, experts, drawn, false, once).gradient, expected) < 1e-12);
    } catch (std::exception const&) {  // it says that a copy is missing
    }
    spoilt += changed;
    found += changed && apart;
  }
  auto right = of_kind[0].print();
  right = of_kind[1].print() && right;
  std::cout << copies << " more copies than experts, " << dropped << " rows dropped\n"
            << "spoilt plans: " << found << " of " << spoilt << " found\n";
  for (std::int64_t halves = 0; halves <= 2; ++halves)
    for (std::int64_t const k : {2, 4}) {
      std::int64_t const capacity = halves == 0 ? 1000 : 1250;
      right = compare_drops({.experts = 16, .active = k, .capacity = capacity}, halves) && right;
      right = compare_drops({.experts = 16, .prototypes = k, .capacity = capacity}, halves) && right;
    }
  return right && found == spoilt && spoilt > 200 ? 0 : 1;
}
