// SPDX-License-Identifier: Apache-2.0
// Prints the tables of HBP (arXiv 2503.07680) that docs/levels.md shows: the profiles and the fits to them, and the metrics of its data
// tables on stand-ins for its data, beside the published figures. Times of training are modelled.
#include "../tests/support/hbp_profile.hpp"
#include "long_context_mixture.hpp"
#include "planning/distributions.hpp"

#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/methods/length_buckets.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/worst_fit.hpp>
#include <ballast/sharding/simple_shards.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using lengths_t = std::vector<std::int64_t>;
namespace hbp = ballast::hbp;

// ---- profiles and fits ----

std::string layers_named(int layers) { return layers < 0 ? "out of memory" : std::to_string(layers); }

void print_profiles() {
  auto const on = ballast_test::hbp_setup();
  std::puts("\nThe model against tables 4 (full-length samples), 18 and 19 (the paper's data): fewest recomputed layers, seconds\n");
  std::puts("| table | length | SP | layers published | modelled | seconds published | modelled | error | its time was |");
  std::puts("|---|---|---|---|---|---|---|---|---|");
  for (auto const& row : ballast_test::hbp_profile) {
    std::printf("| %d | %lldK | %u | %s | %s |", row.table, static_cast<long long>(row.thousands), row.sp, layers_named(row.layers).c_str(),
                layers_named(ballast_test::least_layers(on, row.setting())).c_str());
    if (row.layers < 0) {
      std::puts(" – | – | – | – |");
      continue;
    }
    auto const modelled = ballast_test::iteration_seconds(on, row.setting(), row.sample());
    std::printf(" %.2f | %.2f | %+.1f %% | %s |\n", row.seconds, modelled, 100 * (modelled / row.seconds - 1),
                ballast_test::in_fit_of_constants(row) ? "fitted" : "not fitted");
  }
}

template <std::size_t Columns, class In>
void print_constants(char const* rows, In const& in) {
  auto const on = ballast_test::hbp_setup();
  auto const fit = ballast_test::fit_times<Columns>(in);
  auto const constant = [&](double value, std::size_t i) { return value / fit.coefficients[i]; };
  std::printf("| %s | %.1f %% | %.1f %% | %.1f | %.0f | %s | %.1f %% |\n", rows, constant(on.utilisation / 10., 0),
              constant(on.link_share / 10., 1), constant(static_cast<double>(on.network_bandwidth) / 1e9, 2),
              constant(static_cast<double>(on.parameter_bandwidth) / 1e9, 3),
              Columns == 5 ? (std::to_string(std::lround(constant(on.utilisation, Columns - 1)) / 10) + " %").c_str() : "the same",
              100 * fit.fit.worst);
}

void print_fits() {
  auto const every = [](auto const&) { return true; };
  std::puts("\nThe fit of the four constants of time, by relative least squares\n");
  std::puts("| rows | peak share | link share | network, GB/s | parameters, GB/s | peak share of attention | worst row |");
  std::puts("|---|---|---|---|---|---|---|");
  auto const on = ballast_test::hbp_setup();
  std::printf("| in the header, rounded | %.1f %% | %.1f %% | %.1f | %.0f | the same | |\n", on.utilisation / 10., on.link_share / 10.,
              static_cast<double>(on.network_bandwidth) / 1e9, static_cast<double>(on.parameter_bandwidth) / 1e9);
  print_constants<4>("table 19, and SP 16 of table 18", ballast_test::in_fit_of_constants);
  print_constants<4>("all of tables 4, 18 and 19", every);
  print_constants<4>("the same without 64K", ballast_test::below_and_above_64k);
  print_constants<5>("all, attention with a share of its own", every);
  print_constants<5>("the same without 64K", ballast_test::below_and_above_64k);

  auto without = on;
  without.framework.activations = ballast_test::fit_activations(ballast_test::below_and_above_64k);
  std::printf("\nActivations: %.2f times fused kernels in the header, %.2f by least squares over all recomputed layers, %.2f without 64K\n",
              static_cast<double>(on.framework.activations) / 1000, static_cast<double>(ballast_test::fit_activations(every)) / 1000,
              static_cast<double>(without.framework.activations) / 1000);
  std::puts("\nPacks of 64K tokens, predicted by the fits without them\n");
  std::puts(
      "| table | SP | layers published | predicted | seconds published | predicted | error | attention with a share of its own | error |");
  std::puts("|---|---|---|---|---|---|---|---|---|");
  auto const one = ballast_test::fit_times<4>(ballast_test::below_and_above_64k);
  auto const two = ballast_test::fit_times<5>(ballast_test::below_and_above_64k);
  for (auto const& row : ballast_test::hbp_profile) {
    if (ballast_test::below_and_above_64k(row)) continue;
    std::printf("| %d | %u | %s | %s |", row.table, row.sp, layers_named(row.layers).c_str(),
                layers_named(ballast_test::least_layers(without, row.setting())).c_str());
    if (row.layers < 0) {
      std::puts(" – | – | – | – | – |");
      continue;
    }
    auto const first = ballast_test::predicted_seconds(one, row), second = ballast_test::predicted_seconds(two, row);
    std::printf(" %.2f | %.2f | %+.1f %% | %.2f | %+.1f %% |\n", row.seconds, first, 100 * (first / row.seconds - 1), second,
                100 * (second / row.seconds - 1));
  }
}

// ---- stand-ins ----

lengths_t generated(std::string_view name, std::uint64_t samples) {
  for (auto const& d : ballast_cli::distributions())
    if (d.name == name) return ballast_cli::draw(d, samples, 1);
  std::abort();
}
lengths_t up_to(std::int64_t capacity, lengths_t lengths) {
  std::erase_if(lengths, [&](auto l) { return l > capacity; });
  return lengths;
}
lengths_t together(lengths_t lengths, lengths_t const& others) {
  lengths.insert(lengths.end(), others.begin(), others.end());
  return lengths;
}
/// Samples as long as LongCite's, or as LongWriter's answers.
lengths_t uniform(std::size_t samples, std::int64_t low, std::int64_t high) {
  ballast::splitmix64 draw(7);
  lengths_t lengths(samples);
  for (auto& l : lengths) l = low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(high - low) + 1, draw));
  return lengths;
}

// ---- batches of one length ----

struct ratios {
  double dbr = 0, abr = 0, padding = 0, tokens = 0;
};
/// The metrics of batches, one a rank in each step; the last, incomplete step is left out.
ratios ratios_of(ballast::groups<> const& batches, lengths_t const& lengths, std::size_t ranks, bool shuffled) {
  auto order = ballast::random_permutation<std::uint32_t>(batches.size(), 5);
  if (!shuffled) std::iota(order.begin(), order.end(), 0U);
  order.resize(batches.size() / ranks * ranks);
  lengths_t tokens, squares;
  for (auto const b : order) {
    std::int64_t t = 0, s = 0;
    for (auto const i : batches[b]) {
      t += lengths[i];
      s += lengths[i] * lengths[i];
    }
    tokens.push_back(t);
    squares.push_back(s);
  }
  return {ballast::balance_of_steps(tokens, ranks).mean_ratio, ballast::balance_of_steps(squares, ranks).mean_ratio,
          ballast::padding_ratio(batches, lengths).mean_ratio, ballast::average_tokens(tokens)};
}
/// Batches of a number of samples, in a random order of the samples or by length.
ballast::groups<> batches_of(lengths_t const& lengths, std::size_t samples, bool sorted, std::int64_t capacity = 0) {
  auto order = ballast::random_permutation<std::uint32_t>(lengths.size(), 3);
  if (sorted)
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
  ballast::groups<> batches;
  for (std::size_t i = 0; i < order.size();) {
    auto const fitting = capacity == 0 ? samples : static_cast<std::size_t>(capacity / lengths[order[i]]);
    auto const end = (std::min)(order.size(), i + fitting);
    batches.push_back(
        std::vector<std::uint32_t>(order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(end)));
    i = end;
  }
  return batches;
}

struct named_packer {
  char const* name;
  std::function<ballast::groups<>(lengths_t const&, std::int64_t)> pack;
};
std::vector<named_packer> const& packers() {
  using ballast::packing_options;
  static auto const in_order = [](auto const& lengths, bool descending, auto const& plan) {  // packs of the given samples, by an order
    auto order = ballast::random_permutation<std::uint32_t>(lengths.size(), 11);
    if (descending)
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
    lengths_t ordered;
    for (auto const i : order) ordered.push_back(lengths[i]);
    auto packs = plan(ordered);
    for (auto& m : packs.members) m = order[m];
    return packs;
  };
  static std::vector<named_packer> const all{
      {"Random", [](auto const& l,
                    auto c) { return in_order(l, false, [&](auto const& o) { return ballast::next_fit(o, {.capacity = c}).packs; }); }},
      {"ISF", [](auto const& l, auto c) { return hbp::isf_packer{}(l, packing_options{.capacity = c}, std::uint32_t{}).packs; }},
      {"FFS", [](auto const& l, auto c) { return ballast::first_fit_shuffled(l, {.capacity = c}).packs; }},
      {"FFD", [](auto const& l, auto c) { return ballast::first_fit_decreasing(l, {.capacity = c}).packs; }},
      {"BFS", [](auto const& l, auto c) { return ballast::best_fit_shuffled(l, {.capacity = c}).packs; }},
      {"SPFHP", [](auto const& l,
                   auto c) { return in_order(l, true, [&](auto const& o) { return ballast::worst_fit(o, {.capacity = c}).packs; }); }},
      {"ISF, best fit at the end",
       [](auto const& l, auto c) {
         return hbp::isf_packer{ballast::sampling_options{}}(l, packing_options{.capacity = c}, std::uint32_t{}).packs;
       }},
  };
  return all;
}
double empty_share(ballast::groups<> const& packs, lengths_t const& lengths, std::int64_t capacity) {
  std::int64_t tokens = 0;
  for (auto const m : packs.members) tokens += lengths[m];
  return 1 - static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(packs.size()));
}

void print_table_2(lengths_t const& tulu, lengths_t const& chat, lengths_t const& context) {
  std::puts("\nTable 2: packs of one length by ISF, in random steps of 32 / SP ranks\n");
  std::puts("| length | SP | ABR published | Tulu 3 + LongCite stand-in | chat-sft | long-context-sft | DBR published | stand-ins |");
  std::puts("|---|---|---|---|---|---|---|---|");
  struct row {
    std::int64_t capacity;
    std::size_t sp;
    double abr, dbr;
  };
  for (auto const& r : {row{4096, 1, 0.343, 0.003}, row{32768, 4, 0.456, 0.001}, row{131072, 8, 0.506, 0.003}}) {
    std::printf("| %lldK | %zu | %.3f |", static_cast<long long>(r.capacity / 1024), r.sp, r.abr);
    std::string dbr;
    for (auto const* const data : {&tulu, &chat, &context}) {
      auto const lengths = up_to(r.capacity, *data);
      auto const found = ratios_of(packers()[1].pack(lengths, r.capacity), lengths, 32 / r.sp, true);
      std::printf(" %.3f |", found.abr);
      char text[32];
      std::snprintf(text, sizeof text, "%s%.4f", dbr.empty() ? "" : ", ", found.dbr);
      dbr += text;
    }
    std::printf(" %.3f | %s |\n", r.dbr, dbr.c_str());
  }
}

void print_table_3(lengths_t const& tulu) {
  std::puts(
      "\nTable 3: batches of samples, Tulu 3 + LongCite stand-in; 4K with 3 samples a batch, longer ones with one, sorted ones as fit\n");
  std::puts("| length | batches | DBR published | measured | PR published | measured | Ave-T published | measured |");
  std::puts("|---|---|---|---|---|---|---|---|");
  struct row {
    std::int64_t capacity;
    std::size_t ranks;
    char const* how;
    double dbr, pr, thousands;
  };
  for (auto const& r :
       {row{4096, 32, "random", 0.54, 0.416, 2.4}, row{4096, 32, "sorted", 0.001, 0.001, 2.4}, row{4096, 32, "packed (ISF)", 0.003, 0, 4},
        row{32768, 8, "random", 0.64, 0, 0.8}, row{32768, 8, "sorted", 0.01, 0.02, 30.2}, row{32768, 8, "packed (ISF)", 0.0007, 0, 32},
        row{131072, 4, "random", 0.639, 0, 0.9}, row{131072, 4, "sorted", 0.01, 0.02, 125},
        row{131072, 4, "packed (ISF)", 0.001, 0, 128}}) {
    auto const lengths = up_to(r.capacity, tulu);
    auto const short_ones = r.capacity == 4096;
    auto const packed = r.how[0] == 'p', sorted = r.how[0] == 's';
    auto const batches = packed ? packers()[1].pack(lengths, r.capacity)
                                : batches_of(lengths, short_ones ? 3 : 1, sorted, sorted && !short_ones ? r.capacity : 0);
    auto const found = ratios_of(batches, lengths, r.ranks, !sorted);
    std::printf("| %lldK | %s | %g | %.4f | %g | %.3f | %gK | %.1fK |\n", static_cast<long long>(r.capacity / 1024), r.how, r.dbr,
                found.dbr, r.pr, packed ? 0.0 : found.padding, r.thousands, found.tokens / 1024);
  }
}

struct published_packers {
  char const* title;
  std::int64_t capacity;
  std::size_t ranks, unpacked;  // samples of a batch without packing
  std::vector<double> abr, pr;
};
void print_packers(published_packers const& table, std::vector<std::pair<char const*, lengths_t>> const& data) {
  std::printf("\n%s\n\n| packer | ABR published |", table.title);
  for (auto const& [name, lengths] : data) std::printf(" %s |", name);
  std::printf(" PR published |");
  for (auto const& [name, lengths] : data) std::printf(" %s |", name);
  std::printf("\n|---|---|");
  for (std::size_t column = 0; column <= 2 * data.size(); ++column) std::printf("---|");
  std::puts("");
  for (std::size_t p = 0; p <= packers().size(); ++p) {
    auto const text_of = [&](std::vector<double> const& published) {
      char text[32];
      std::snprintf(text, sizeof text, "%g", p < published.size() ? published[p] : 0.0);
      return p < published.size() ? std::string(text) : std::string("–");
    };
    std::printf("| %s | %s |", p == 0 ? "none" : packers()[p - 1].name, text_of(table.abr).c_str());
    std::string empty;
    for (auto const& [name, all] : data) {
      auto const lengths = up_to(table.capacity, all);
      auto const packs = p == 0 ? batches_of(lengths, table.unpacked, false) : packers()[p - 1].pack(lengths, table.capacity);
      auto const found = ratios_of(packs, lengths, table.ranks, true);
      std::printf(" %.3f |", found.abr);
      char text[32];
      std::snprintf(text, sizeof text, " %.4f |", p == 0 ? found.padding : empty_share(packs, lengths, table.capacity));
      empty += text;
    }
    std::printf(" %s |%s\n", text_of(table.pr).c_str(), empty.c_str());
  }
}

ballast::level_figures figures_of(lengths_t const& lengths, std::vector<ballast::level> const& levels, bool balanced) {
  std::vector<ballast::level_time> times;
  for (auto const& l : levels) times.push_back(ballast::modelled_level_time(ballast_test::hbp_setup(), l));
  auto const plan = hbp::plan_training(lengths, levels, {.balanced = balanced});
  return ballast::figures_of(plan.steps, plan.packed.lengths, times);
}

void print_mixes(std::vector<std::pair<char const*, lengths_t>> const& mixes) {
  std::puts(
      "\nTable 17: ABR of HBP's balanced steps\n\n| stand-in for | levels | published | measured | idle, modelled "
      "|\n|---|---|---|---|---|");
  double const published[]{0.001, 0.001, 0.002, 0.004, 0.003};
  std::vector<std::vector<ballast::level>> const levels{{{16384, 1, 28}, {32768, 8, 8}},
                                                        {{4096, 1, 8}},
                                                        {{16384, 1, 28}, {131072, 8, 28}},
                                                        {{16384, 1, 28}, {131072, 8, 28}},
                                                        {{16384, 1, 28}, {32768, 8, 8}}};
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    std::string name;
    for (auto const& l : levels[i]) name += (name.empty() ? "" : ", ") + std::to_string(l.capacity / 1024) + "K/" + std::to_string(l.sp);
    auto const f = figures_of(up_to(levels[i].back().capacity, mixes[i].second), levels[i], true);
    std::printf("| %s | %s | %.3f | %.4f | %.2f %% |\n", mixes[i].first, name.c_str(), published[i], f.attention_ratio, 100 * f.idle);
  }
  std::puts("\nTable 22: OpenHermes 4K + LongCite\n");
  std::puts("| hierarchy | balance | ABR published | measured | gain published | modelled |\n|---|---|---|---|---|---|");
  std::vector<ballast::level> const naive{{131072, 8, 28}}, two{{16384, 1, 28}, {131072, 8, 28}};
  auto const base = figures_of(mixes[3].second, naive, false), with = figures_of(mixes[3].second, two, false),
             both = figures_of(mixes[3].second, two, true);
  std::printf("| no | no | 0.513 | %.3f | 1 | 1 |\n", base.attention_ratio);
  std::printf("| yes | no | 0.269 | %.3f | 1.27 | %.3f |\n", with.attention_ratio, with.speedup_over(base));
  std::printf("| yes | yes | 0.004 | %.4f | 1.44 | %.3f |\n", both.attention_ratio, both.speedup_over(base));
}

// ---- FlexSP ----

constexpr std::int64_t device_tokens = 16384;  // of a device in a pass, with 28 recomputed layers

/// The model's time of a sample on the devices that share it, as in the levels of HBP.
ballast::degree_cost shared_cost() {
  auto const of = [](std::uint32_t sp) { return ballast::modelled_level_time(ballast_test::hbp_setup(), {device_tokens * sp, sp, 28}); };
  auto const alone = of(1);
  ballast::degree_cost cost{.linear = alone.per_token, .square = alone.per_square, .exchange = {0}};
  for (std::uint32_t sp = 2; sp <= 32; sp *= 2) cost.exchange.push_back((of(sp).per_token - alone.per_token) / sp);
  return cost;
}

struct planned_batches {
  double padding = 0, dbr = 0, abr = 0, cr = 0;  // means over the micro-batches; `padding` is what rounding up to buckets adds
  double seconds = 0;                            // modelled, of 512K tokens
  double planning = 0;                           // measured, of a batch
};
/// Batches of 512 samples, in micro-batches on 32 devices.
template <class Plan>
planned_batches batches_by(Plan const& plan, lengths_t const& lengths, std::size_t count) {
  auto const cost = shared_cost();
  auto const pass = ballast::modelled_level_time(ballast_test::hbp_setup(), {device_tokens, 1, 28}).per_pack / 1000;
  ballast::sharding_options const on{
      .capacity = device_tokens, .ranks = 32, .cost_per_pass = pass, .execution = ballast::execution::lockstep};
  planned_batches out;
  double micro_batches = 0, tokens = 0, nanoseconds = 0;
  for (std::size_t b = 0; b < count; ++b) {
    lengths_t const batch(lengths.begin() + static_cast<std::ptrdiff_t>(512 * b),
                          lengths.begin() + static_cast<std::ptrdiff_t>(512 * b + 512));
    auto const start = std::clock();
    ballast::shards<> const found = plan(batch, on, cost);
    out.planning += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / static_cast<double>(count);
    if (found.status != ballast::status::feasible) std::abort();
    nanoseconds += static_cast<double>(found.time.value);
    for (std::size_t m = 0; m < found.passes(0); ++m) {
      lengths_t held(found.ranks(), 0), squares(found.ranks(), 0), samples;
      std::int64_t all = 0, exchanged = 0;
      for (std::size_t r = 0; r < found.ranks(); ++r)
        for (auto const& piece : found(r, m)) {
          auto const here = piece.end - piece.begin, length = batch[piece.sample];
          held[r] += here;
          squares[r] += here * length;
          all += here;
          exchanged += here < length ? here : 0;
          if (piece.begin == 0) samples.push_back(length);
        }
      auto const waiting = [](lengths_t const& of) {
        return 1 - std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size()) /
                       static_cast<double>(*std::max_element(of.begin(), of.end()));
      };
      auto const excess = static_cast<double>(ballast::length_buckets(samples, 16).excess.value);
      out.padding += excess / (static_cast<double>(all) + excess);
      out.dbr += waiting(held);
      out.abr += waiting(squares);
      out.cr += static_cast<double>(exchanged) / static_cast<double>(all);
      tokens += static_cast<double>(all);
      micro_batches += 1;
    }
  }
  for (auto* const sum : {&out.padding, &out.dbr, &out.abr, &out.cr}) *sum /= micro_batches;
  out.seconds = nanoseconds * 1e-9 / tokens * (512 << 10);
  return out;
}

void print_flexsp(lengths_t const& lengths, lengths_t const& documents) {
  constexpr std::size_t batches = 100;
  auto const flexsp = [](auto const& batch, auto const& on, auto const& cost) {
    return ballast::flexsp::schedule(batch, on, cost, {.fewest_ranks = 1});
  };
  auto const lockstep = [](auto const& batch, auto const& on, auto const& cost) { return ballast::lockstep_shards(batch, on, cost); };
  auto const by_flexsp = batches_by(flexsp, lengths, batches), by_lockstep = batches_by(lockstep, lengths, batches);
  auto const tokens = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  auto const isf = figures_of(lengths, {{131072, 8, 28}}, false), hbp = figures_of(lengths, {{16384, 1, 28}, {131072, 8, 28}}, true);
  auto const start = std::clock();
  (void)hbp::plan_training(lengths, std::vector<ballast::level>{{16384, 1, 28}, {131072, 8, 28}});
  auto const planning = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  auto const seconds = [&](ballast::level_figures const& of) { return of.seconds / tokens * (512 << 10); };
  std::puts("\nTable 12: the stand-in of Tulu 3 + LongCite; FlexSP by batches of 512 samples, the mean of 100; published, then measured\n");
  std::puts("| method | PR | DBR | CR | ABR | gain |\n|---|---|---|---|---|---|");
  std::printf("| ISF | 0, 0 | 0.001, %.4f | 1, %.3f | 0.506, %.3f | 1, 1 |\n", isf.token_ratio, isf.communication_ratio,
              isf.attention_ratio);
  std::printf("| FlexSP | 0.04, %.3f | 0.064, %.3f | 0.171, %.3f | 0.36, %.3f | 1.2, %.3f |\n", by_flexsp.padding, by_flexsp.dbr,
              by_flexsp.cr, by_flexsp.abr, seconds(isf) / by_flexsp.seconds);
  std::printf("| HBP | 0, 0 | 0.001, %.4f | 0.173, %.3f | 0.002, %.4f | 1.4, %.3f |\n", hbp.token_ratio, hbp.communication_ratio,
              hbp.attention_ratio, seconds(isf) / seconds(hbp));
  std::printf("| lockstep_shards | – | –, %.3f | –, %.3f | –, %.3f | –, %.3f |\n", by_lockstep.dbr, by_lockstep.cr, by_lockstep.abr,
              seconds(isf) / by_lockstep.seconds);
  std::puts("\nTable 14: seconds of 512K tokens; planning of a batch on one thread here, for HBP its share of the epoch's\n");
  std::puts("| method | lengths | planning published | measured | training published | modelled |\n|---|---|---|---|---|---|");
  auto const of_documents = batches_by(flexsp, documents, 8);
  std::printf("| FlexSP | Wikipedia (pretraining-documents up to 128K) | 4.41 | %.4f | 2.4 | %.2f |\n", of_documents.planning,
              of_documents.seconds);
  std::printf("| FlexSP | Tulu 3 + LongCite | 3.43 | %.4f | 3.02 | %.2f |\n", by_flexsp.planning, by_flexsp.seconds);
  std::printf("| HBP | Tulu 3 + LongCite | 0 | %.4f | 2.75 | %.2f |\n", planning / tokens * (512 << 10), seconds(hbp));
}

}  // namespace

int main() {
  print_profiles();
  print_fits();
  auto const mixture = mixture::lengths(), tulu = mixture::lengths(939344, 0);
  auto const chat = generated("chat-sft", 500000), context = generated("long-context-sft", 60000);
  auto const hermes = up_to(4096, chat);
  auto const hermes_cite = together(hermes, uniform(2000, 32769, 131072));
  print_table_2(mixture, chat, context);
  print_table_3(mixture);
  print_packers({"Table 13: packs of 128K tokens, four ranks, random steps",
                 131072,
                 4,
                 1,
                 {0.72, 0.53, 0.506, 0.508, 0.515, 0.508, 0.512},
                 {0, 0.03, 0.01, 0.01, 0.01, 0.01, 0.01}},
                {{"Tulu 3 + LongCite stand-in", mixture}, {"long-context-sft", context}});
  print_packers({"Table 21: packs of 4K tokens, 32 ranks, random steps",
                 4096,
                 32,
                 3,
                 {0.878, 0.648, 0.64, 0.638, 0.71, 0.64, 0.71},
                 {0.676, 0.089, 0.022, 0.022, 0.022, 0.022, 0.029}},
                {{"chat-sft up to 4K", hermes}, {"Tulu 3 stand-in up to 4K", tulu}});
  print_mixes({{"Tulu 3", tulu},
               {"OpenHermes (chat-sft up to 4K)", hermes},
               {"Tulu 3 + LongCite", mixture},
               {"OpenHermes + LongCite", hermes_cite},
               {"Tulu 3 + LongWriter", together(tulu, uniform(6000, 2048, 32768))}});
  print_flexsp(mixture, up_to(131072, generated("pretraining-documents", 5000)));
  return 0;
}
