// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/streams/mixture.hpp>

#include "results.hpp"

#include <optional>
#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, step_balance const& b) { put(d, b.steps, b.ranks, b.total, b.slowest, b.single_sample); }
template <class Index>
void put(digest& d, vector_batching<Index> const& b) {
  put(d, static_cast<ballast::batching<Index> const&>(b), b.balance, b.cost_balance, b.pack_count);
}
template <class Index>
void put(digest& d, micro_batching<Index> const& b) {
  put(d, static_cast<ballast::batching<Index> const&>(b), b.status, b.count, b.complete);
}

namespace {

constexpr quadratic_cost dear{.linear = 6 * 4096, .quadratic = 1};

struct variant {
  std::string name;
  batching_options options;
};
std::vector<variant> variants_of(std::int64_t capacity) {
  std::vector<variant> out{
      {"plain", {.capacity = capacity, .ranks = 4}},
      {"micro_batches=3", {.capacity = capacity, .ranks = 4, .micro_batches = 3, .seed = 1}},
      {"shorten,prices", {.capacity = capacity, .ranks = 8, .left_over = left_over::shorten, .epoch = 2}},
      {"repeat,per_micro_batch", {.capacity = capacity, .ranks = 4, .micro_batches = 4, .left_over = left_over::repeat}},
      {"drop,pipeline", {.capacity = capacity, .ranks = 2, .micro_batches = 6, .stages = 4, .left_over = left_over::drop}},
      {"least_fill=950", {.capacity = capacity, .ranks = 6, .seed = 3, .least_fill = 950}}};
  out[2].options.cost_per_micro_batch = 50'000;
  out[2].options.cost_per_step = 1'000'000;
  out[3].options.synchronisation = synchronisation::per_micro_batch;
  out[4].options.synchronisation = synchronisation::pipeline;
  return out;
}

void of_lengths() {
  for (auto const& c : data_cases()) {
    auto const packs = best_fit_decreasing(c.lengths, {.capacity = c.capacity}).packs;
    for (auto const& [what, o] : variants_of(c.capacity)) {
      auto const name = std::string(c.name) + ',' + what;
      show("plan_steps", name + ",square", plan_steps(c.lengths, o, square));
      show("plan_steps", name + ",dear", plan_steps(c.lengths, o, dear));
      show("plan_steps", name + ",tokens", plan_steps(c.lengths, o, token_cost{}));
      show("steps_in_order", name, deal_steps(packs, c.lengths, o, square, {.how = dealing::in_order}));
      show("random_steps", name, deal_steps(packs, c.lengths, o, square, {.how = dealing::random}));
      show("sorted_steps", name, deal_steps(packs, c.lengths, o, square));
      show("sorted_steps", name + ",window=4,redeal",
           deal_steps(packs, c.lengths, o, square, {.window = 4, .emission = emission::shuffled, .redeal = true}));
      show("sorted_steps", name + ",decreasing", deal_steps(packs, c.lengths, o, dear, {.emission = emission::decreasing}));
      show("row_steps", name, deal_steps(packs, c.lengths, o, square, {.how = dealing::rows, .window = 16, .redeal = true}));
      show("row_steps", name + ",window=4", deal_steps(packs, c.lengths, o, square, {.how = dealing::rows, .window = 4}));
      show("stream_steps", name, stream_steps(c.lengths, o, square));
      show("stream_steps", name + ",share",
           stream_steps(c.lengths, o, square, {.share_overhead = 20, .most_ranks_shared = 4, .tuning = {.threshold = 0, .share = 300}}));
      show("stream_steps", name + ",full", stream_steps(c.lengths, o, square, {.tuning = {.fill = 0, .threshold = 200}}));
    }
  }
}

void under_constraints() {
  auto const lengths = uniform(400, 1, 450, 31);
  std::vector<std::uint64_t> together, apart;
  for (std::uint64_t i = 0; i < lengths.size(); ++i) {
    together.push_back(i % 5 == 3 ? i - 1 : i);
    apart.push_back(i % 3);
  }
  auto const of_pairs = [&] {  // a pair has one group
    auto keys = apart;
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = together[i] % 3;
    return keys;
  }();
  for (auto const& [what, o] : variants_of(1000)) {
    show("plan_steps", "together," + what, plan_steps(lengths, o, square, {.together = together}));
    show("plan_steps", "apart," + what, plan_steps(lengths, o, square, {.apart = apart}));
    show("plan_steps", "together,apart," + what, plan_steps(lengths, o, square, {.together = together, .apart = of_pairs}));
    show("plan_steps", "limited," + what, plan_steps(lengths, o, square, {.max_samples = 4}));
    show("plan_steps", "shared=4," + what, plan_steps(lengths, o, square, {.most_ranks_shared = 4, .share_overhead = 30}));
  }
  for (std::size_t const n : {0U, 5U, 60U, 150U}) {
    auto const batch = uniform(n, 1, 450, 32 + n);
    std::span<std::uint64_t const> const pairs(together.data(), n), kinds(apart.data(), n), kinds_of_pairs(of_pairs.data(), n);
    for (auto const& [what, o] : variants_of(1000)) {
      auto const name = std::to_string(n) + ',' + what;
      show("micro_batches", name, micro_batches(batch, o, square));
      show("micro_batches", name + ",equal_counts", micro_batches(batch, o, square, {.at_least = 2, .equal_counts = true}));
      show("micro_batches", name + ",exactly=12", micro_batches(batch, o, square, {.exactly = 12, .small_ends = true}));
      show("micro_batches", name + ",together", micro_batches(batch, o, square, {.together = pairs}));
      show("micro_batches", name + ",apart", micro_batches(batch, o, square, {.apart = kinds}, {.work = 100'000}));
      show("micro_batches", name + ",both",
           micro_batches(batch, o, square, {.together = pairs, .apart = kinds_of_pairs}, {.work = 100'000}));
    }
  }
}

void of_measures() {
  splitmix64 draw(41);
  std::vector<numbers> columns(3);
  for (int i = 0; i < 300; ++i) {
    auto const text = between(0, 4, draw) == 0;
    columns[0].push_back(text ? 0 : between(0, 2, draw) * 2 + 1);
    columns[1].push_back(256 * columns[0].back() + between(20, 700, draw));
    columns[2].push_back(between(0, 30, draw));
  }
  sample_measures const samples(std::vector<std::span<std::int64_t const>>(columns.begin(), columns.end()));
  numbers const others{9, 4096};
  auto const cost = [](std::span<std::int64_t const> row) { return 500 * row[0] + 6 * row[1] + row[1] * row[1] / 1000; };
  std::pair<std::string, vector_batching_options> const variants[] = {
      {"plain", {.steps = {.capacity = 300, .ranks = 4}, .others = others}},
      {"window=0",
       {.steps = {.capacity = 300, .ranks = 4, .micro_batches = 2, .left_over = left_over::shorten, .seed = 1},
        .others = others,
        .window = 0}},
      {"weights,drop",
       {.steps = {.capacity = 300, .ranks = 3, .left_over = left_over::drop, .epoch = 3},
        .others = others,
        .window = 4,
        .weights = {2000, 1, 0}}},
      {"separate,repeat",
       {.steps = {.capacity = 300, .ranks = 4, .left_over = left_over::repeat}, .others = others, .separate = std::size_t{0}}},
      {"set_aside",
       {.steps = {.capacity = 300, .ranks = 2}, .others = {5, 1500}, .oversize = oversize::set_aside, .separate = std::size_t{0}}},
      {"alone",
       {.steps = {.capacity = 300, .ranks = 2, .micro_batches = 3},
        .others = {5, 1500},
        .oversize = oversize::alone,
        .weights = {1, 1, 1}}}};
  for (auto const& [what, o] : variants) {
    show("plan_steps_of_measures", what, plan_steps(samples, o));
    show("plan_steps_of_measures", what + ",cost", plan_steps(samples, o, cost));
  }
  groups<> packs;
  for (std::uint32_t i = 0; i + 1 < samples.size(); i += 2) packs.push_back(std::vector{i, i + 1});
  vector_batching_options const wide{.steps = {.capacity = 300, .ranks = 4}, .others = {20, 9000}, .window = 5};
  show("level_steps", "pairs", deal_steps(packs, samples, wide));
  show("level_steps", "pairs,cost", deal_steps(packs, samples, wide, cost));
}

void on_the_way() {
  for (auto const& c : data_cases()) {
    auto plan = plan_steps(c.lengths, {.capacity = c.capacity, .ranks = 4}, square);
    std::vector<std::size_t> done;
    for (std::size_t s = 0; s < plan.steps(); s += 2) done.push_back(s);
    auto const left = samples_left(plan, done);
    show("samples_left", c.name, left);
    numbers lengths;
    for (auto const i : left) lengths.push_back(c.lengths[i]);
    auto rest = plan_steps(lengths, {.capacity = c.capacity, .ranks = 4, .epoch = 1}, square);
    renumber(rest, std::span<std::uint32_t const>(left));
    show("renumber", c.name, rest);
  }
  std::vector<std::uint32_t> source;
  for (std::uint32_t i = 0; i < 200; ++i) source.push_back(i % 7 == 0 ? 2 : i % 2);
  show("mixture", "3:1:2", mixture(source, numbers{3, 1, 2}, 500, 9));
  show("mixture", "0:1:5", mixture(source, numbers{0, 1, 5}, 300, 10));
}

}  // namespace

void batching() {
  of_lengths();
  under_constraints();
  of_measures();
  on_the_way();
}

}  // namespace plan_hashes
