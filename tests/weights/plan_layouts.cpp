// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/weights/check.hpp>
#include <ballast/weights/plan_layouts.hpp>

#include "support/catch.hpp"
#include "support/layout_blocks.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test_weights_plan_layouts {

using namespace ballast;
using ballast_test::plain_devices, ballast_test::plain_layer;

namespace {

constexpr activation_layout streams[] = {activation_layout::replicated, activation_layout::sequence, activation_layout::batch};

layout_chain one(layout_block block, std::uint32_t count = 1) { return {{std::move(block)}, {{0, count}}}; }

/// Every combination of layouts of a block, as the validator prices them: all entries, exits and layouts of the residual stream.
class enumeration {
 public:
  struct pair {
    std::int64_t time, bytes;
  };
  std::map<std::pair<int, int>, std::vector<pair>> found;  ///< by entry and exit
  std::uint64_t weight_plans = 0;                          ///< legal combinations of the weights' layouts alone

  enumeration(layout_block const& block, layout_setting const& options) : block_(block), options_(options) {
    made_.operators.resize(block.size());
    for (auto const entry : streams) {
      made_.entry = entry;
      next(0);
    }
  }

 private:
  void next(std::size_t v) {
    if (v == block_.size()) {
      for (auto const exit : streams) {
        made_.exit = exit;
        if (auto const c = cost_of_layouts(block_, made_, options_); c.legal)
          found[{static_cast<int>(made_.entry), static_cast<int>(exit)}].push_back({c.time.value, c.bytes.value});
      }
      return;
    }
    auto& l = made_.operators[v];
    l = {};
    for (auto const residual : streams) {
      if (!block_[v].opens && residual != streams[0]) break;
      l.residual = residual;
      if (block_[v].rule == layout_rule::weights)
        weights(v, 0);
      else
        for (auto const at : {streams[0], streams[1], streams[2], activation_layout::hidden}) {
          l.reads = l.makes = at;
          l.weights.assign(block_[v].weights.size(), {weight_layout::replicated, at});
          next(v + 1);
          l.weights.clear();
        }
    }
  }
  void weights(std::size_t v, std::size_t i) {
    auto& l = made_.operators[v];
    if (i == block_[v].weights.size()) {
      for (int makes = 0; makes < 5; ++makes) {
        l.makes = static_cast<activation_layout>(makes);
        auto const natural = use_of(block_[v].weights[0].kind, l.weights[0].layout, l.weights[0].reads).makes;
        if (i > 1 || l.makes == natural) next(v + 1);
      }
      return;
    }
    for (int layout = 0; layout < 5; ++layout)
      for (int reads = 0; reads < 4; ++reads) {
        weight_place const p{static_cast<weight_layout>(layout), static_cast<activation_layout>(reads)};
        if (auto const use = use_of(block_[v].weights[i].kind, p.layout, p.reads); !use.legal || use.reads != p.reads) continue;
        if (p.layout == weight_layout::replicated && !(reads == 0 ? options_.replicated : reads == 1 ? options_.sequence : options_.batch))
          continue;
        l.weights.push_back(p);
        weights(v, i + 1);
        l.weights.pop_back();
      }
  }

  layout_block const& block_;
  layout_setting const& options_;
  block_layouts made_{};
};

/// Least time within the memory of a chain of equal blocks, from all pairs of the enumeration; -1 if there is none.
std::int64_t least_time(enumeration const& all, std::uint32_t count, std::int64_t memory) {
  std::map<int, std::vector<enumeration::pair>> now;
  for (int s = 0; s < 3; ++s) now[s] = {{0, 0}};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::map<int, std::vector<enumeration::pair>> then;
    for (auto const& [ends, pairs] : all.found)
      for (auto const& a : now[ends.first])
        for (auto const& b : pairs) then[ends.second].push_back({a.time + b.time, a.bytes + b.bytes});
    for (auto& [end, pairs] : then) {  // a plain filter of what is beaten in both
      std::sort(pairs.begin(), pairs.end(),
                [](auto const& a, auto const& b) { return a.bytes != b.bytes ? a.bytes < b.bytes : a.time < b.time; });
      std::vector<enumeration::pair> kept;
      for (auto const& p : pairs)
        if (kept.empty() || p.time < kept.back().time) kept.push_back(p);
      pairs = kept;
    }
    now = std::move(then);
  }
  std::int64_t best = -1;
  for (auto const& [end, pairs] : now)
    for (auto const& p : pairs)
      if (p.bytes <= memory && (best < 0 || p.time < best)) best = p.time;
  return best;
}

layout_plan checked_plan(layout_chain const& chain, layout_setting const& options) {
  auto const plan = plan_layouts(chain, options);
  auto const v = check_layouts(chain, plan, options);
  CAPTURE(describe(v));
  CHECK(v.valid());
  CHECK(plan == plan_layouts(chain, options));
  return plan;
}

std::string words(layout_plan const& plan, layout_chain const& chain) {
  std::string out;
  auto const& l = plan.layouts.at(0);
  for (std::size_t v = 0; v < l.operators.size(); ++v)
    for (std::size_t i = 0; i < l.operators[v].weights.size(); ++i)
      out += chain.blocks[l.block][v].weights[i].name + " " + std::string(to_string(l.operators[v].weights[i].layout)) + ", ";
  return out;
}

layout_setting tensor_parallel(layout_setting o) {
  o.sequence = o.batch = o.replicate = false;
  return o;
}
layout_setting data_parallel(layout_setting o) {
  o.sequence = o.replicated = o.split = false;
  return o;
}

/// A random block of a few weights, with attention, experts and a residual stream.
layout_block random_block(splitmix64& random) {
  auto const draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(uniform_below(n, random)); };
  auto const h = 16 * (1 + draw(6)), f = 16 * (1 + draw(20));
  layout_block out{{.name = "norm",
                    .rule = layout_rule::tokens,
                    .weights = {{.kind = weight_kind::vector, .out = h}},
                    .width = h,
                    .makes = h,
                    .kept = h,
                    .opens = true}};
  auto const inner = draw(3);
  if (inner == 0)
    out.push_back({.name = "experts",
                   .weights = {{.kind = weight_kind::experts,
                                .in = h,
                                .out = f,
                                .matrices = 8,
                                .visited = 2,
                                .sent = 2,
                                .row_units = 4 * draw(2),
                                .router = h * draw(3)}},
                   .width = h,
                   .makes = h,
                   .kept = h});
  else {
    out.push_back({.name = "in",
                   .weights = {{.in = h, .out = f, .column_units = draw(3)}, {.in = h, .out = f}},
                   .width = h,
                   .makes = 2 * f,
                   .kept = h});
    if (inner == 1)
      out.push_back(
          {.name = "attention", .rule = layout_rule::sequences, .width = 2 * f, .makes = f, .kept = f, .units = draw(5), .flops = 100 * f});
    out.push_back({.name = "out", .weights = {{.in = f, .out = h}}, .width = f, .makes = h, .kept = f});
  }
  out.back().closes = true;
  if (draw(2) == 0) out.push_back({.name = "last", .weights = {{.in = h, .out = h}}, .width = h, .makes = h, .kept = h});
  return out;
}

}  // namespace

TEST_CASE("plan_layouts: a layer has 3^6 plans of its weights, and Megatron's is the best where memory is tight") {
  std::int64_t const h = 1024, n = 8, tokens = 2048;
  auto const chain = one(plain_layer(h, 16));
  auto options = plain_devices(n, tokens);
  options.sequence = options.batch = false;  // the batch is replicated
  options.flops_per_s = 100'000'000'000'000;
  // Room for split weights and what is kept, and for no replicated matrix.
  auto const kept = tokens * 2 * (2 * h + (3 * h + h + 8 * h) / n);
  options.memory = 12 * h * h * 18 / n + kept;
  auto const plan = checked_plan(chain, options);
  REQUIRE(plan.status == status::feasible);
  CHECK(words(plan, chain) == "q columns, k columns, v columns, proj rows, fc1 columns, fc2 rows, ");
  CHECK(plan.time.optimal());
  CHECK(plan.bytes == options.memory);
  auto const all_reduce = collective_time(collective::all_reduce, 2 * tokens * h, {.ranks = n}, options.links);
  auto const work = [&](std::int64_t parameters) { return divide_up<std::int64_t>(2 * parameters * tokens / n * 30'000, 1'000'000); };
  CHECK(plan.time.value == 4 * work(h * h) + 2 * work(4 * h * h) + 4 * all_reduce);  // two in each direction
  enumeration const all(chain.blocks[0], options);
  CHECK(least_time(all, 1, options.memory) == plan.time.value);
  options.memory -= 1;
  auto const none = checked_plan(chain, options);
  CHECK(none.status == status::feasible);  // rows in the place of columns keep less, and take longer
  CHECK(none.time.value > plan.time.value);
}

TEST_CASE("plan_layouts: exhaustive optimum on blocks of up to eight weights, for every memory") {
  for (std::uint64_t seed = 0; seed < 24; seed += static_cast<std::uint64_t>(ballast_test::round_step)) {
    CAPTURE(seed);
    splitmix64 random(seed);
    auto const chain = one(random_block(random));
    layout_setting options = plain_devices(1 + static_cast<std::int64_t>(uniform_below(4, random)), 64);
    options.tuning.points = 1 << 10;
    options.data = 1 + static_cast<std::int64_t>(uniform_below(2, random));
    options.passes = 1 + static_cast<std::int64_t>(uniform_below(3, random));
    options.flops_per_s = std::int64_t{1'000'000'000} << uniform_below(12, random);
    options.links.inside = link_line{static_cast<std::int64_t>(uniform_below(2, random)) * 1'000'000, 1'000'000'000};
    options.hidden.gradient = static_cast<std::int64_t>(uniform_below(2, random)) * 500;
    options.replicated = uniform_below(4, random) > 0;
    options.sequence = uniform_below(4, random) == 0;
    enumeration const all(chain.blocks[0], options);
    std::vector<std::int64_t> memories;
    for (auto const& [ends, pairs] : all.found)
      for (auto const& p : pairs) memories.push_back(p.bytes);
    REQUIRE(!memories.empty());
    std::sort(memories.begin(), memories.end());
    memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
    for (std::size_t i = 0; i < memories.size(); i += 1 + memories.size() / 6) {
      options.memory = memories[i];
      auto const plan = checked_plan(chain, options);
      CHECK(plan.exact);
      CHECK(plan.time.value == least_time(all, 1, options.memory));
    }
    options.memory = memories[0] - 1;
    auto const plan = checked_plan(chain, options);
    CHECK(plan.status == status::infeasible);
    CHECK(plan.shortage == 1);
  }
  // Eight weights, each by columns, by rows or replicated.
  layout_block eight;
  for (int i = 0; i < 8; ++i) eight.push_back({.weights = {{.in = 64, .out = 64}}, .width = 64, .makes = 64, .kept = 64});
  auto options = plain_devices(4, 96);
  options.sequence = options.batch = false;
  enumeration const all(eight, options);
  CHECK(all.found.begin()->second.size() == 6561);
  for (std::int64_t const states : {8, 6, 5, 4, 3, 2}) {
    options.memory = (states * 4 + (8 - states)) * 64 * 64 * 18 / 4 + 8 * 2 * 64 * 96;
    CHECK(checked_plan(one(eight), options).time.value == least_time(all, 1, options.memory));
  }
}

TEST_CASE("plan_layouts: repeated blocks are planned as one by one") {
  for (std::uint64_t seed = 100; seed < 106; seed += static_cast<std::uint64_t>(ballast_test::round_step)) {
    CAPTURE(seed);
    splitmix64 random(seed);
    auto chain = one(random_block(random));
    layout_setting options = plain_devices(2, 64);
    options.tuning.points = 1 << 10;
    options.sequence = false;
    options.flops_per_s = std::int64_t{1'000'000'000} << uniform_below(12, random);
    options.links.inside = link_line{0, 1'000'000'000};
    enumeration const all(chain.blocks[0], options);
    for (std::uint32_t const count : {2U, 3U}) {
      chain.runs[0].count = count;
      options.memory = 1LL << 60;
      auto const fastest = checked_plan(chain, options).bytes;
      options.memory = 0;
      auto const least = plan_layouts(chain, options).shortage;
      for (std::int64_t part = 0; part < 3; ++part) {
        options.memory = least + (fastest - least) * part / 3;
        auto const plan = checked_plan(chain, options);
        REQUIRE(plan.exact);
        CHECK(plan.time.value == least_time(all, count, options.memory));
        auto few = options;  // fewer pairs: a plan that is not better, and a bound that holds
        few.tuning.points = 4;
        auto const rough = checked_plan(chain, few);
        REQUIRE(rough.status == status::feasible);
        CHECK(rough.time.value >= plan.time.value);
        CHECK(rough.time.lower_bound <= plan.time.value);
        chain.runs.assign(count, {0, 1});  // the same chain, written out
        CHECK(plan_layouts(chain, options).time == plan.time);
        chain.runs.assign(1, {0, count});
      }
    }
  }
}

TEST_CASE("plan_layouts: data parallelism beyond three times the width in tokens") {
  // Tensor parallelism moves 4 x 2 T h bytes, data parallelism 2 x 12 h^2, both by all-reduces.
  std::int64_t const h = 256, n = 8;
  auto const chain = one(plain_layer(h, 16), 3);
  for (std::int64_t tokens = n; tokens <= 5 * h; tokens += 8 * n) {
    CAPTURE(tokens);
    for (auto const t : {tokens, tokens - tokens % (3 * h)}) {
      if (t == 0) continue;
      auto options = plain_devices(n, t);
      options.flops_per_s = 1'000'000'000'000;  // work that is done several times costs more than any exchange
      auto const tensor = checked_plan(chain, tensor_parallel(options)), data = checked_plan(chain, data_parallel(options));
      CHECK((data.time.value < tensor.time.value) == (t > 3 * h));
      CHECK((data.time.value == tensor.time.value) == (t == 3 * h));
      // Each weight of P parameters has a border of its own near P / h tokens, because an all-reduce falls into two halves: one before a
      // weight by columns, one behind a weight by rows. So between h and 4 h tokens the best plan is neither of both.
      options.sequence = false;
      auto const best = checked_plan(chain, options);
      auto const pure = (std::min)(data.time.value, tensor.time.value);
      if (t <= h || t >= 4 * h) CHECK(best.time.value == pure);
      if (t == 3 * h) CHECK(best.time.value < pure);
      CHECK(best.time.value <= pure);
      if (t < h) CHECK(words(best, chain) == "q columns, k columns, v columns, proj rows, fc1 columns, fc2 rows, ");
      if (t > 4 * h)
        CHECK(words(best, chain) == "q replicated, k replicated, v replicated, proj replicated, fc1 replicated, fc2 replicated, ");
    }
  }
  // A gated layer with grouped heads: T = P / (4 h).
  auto gated = plain_layer(h, 16);
  gated[0].weights[1].out = gated[0].weights[2].out = h / 2;
  gated[3].weights = {{.name = "gate", .in = h, .out = 3 * h}, {.name = "up", .in = h, .out = 3 * h}};
  gated[4].weights[0].in = gated[4].width = 3 * h;
  std::int64_t const parameters = 3 * h * h + 9 * h * h, border = parameters / (4 * h);
  for (auto const tokens : {border - n, border, border + n}) {
    auto options = plain_devices(n, tokens);
    options.flops_per_s = 1'000'000'000'000;
    auto const tensor = plan_layouts(one(gated), tensor_parallel(options)), data = plan_layouts(one(gated), data_parallel(options));
    CHECK((tensor.time.value < data.time.value) == (tokens < border));
    CHECK((data.time.value < tensor.time.value) == (tokens > border));
  }
}

TEST_CASE("plan_layouts: ends, groups of groups, and what cannot be split") {
  std::int64_t const h = 64, v = 1000;
  layout_chain chain{
      {{{.name = "embedding", .weights = {{.name = "table", .kind = weight_kind::embedding, .in = v, .out = h}}, .width = 0, .makes = h}},
       plain_layer(h, 4),
       {{.name = "head", .weights = {{.name = "head", .kind = weight_kind::head, .in = h, .out = v}}, .width = h, .makes = v, .kept = h},
        {.name = "loss", .rule = layout_rule::any, .width = v, .makes = 0, .kept = v}}},
      {{0, 1}, {1, 5}, {2, 1}}};
  auto options = plain_devices(4, 256);
  options.flops_per_s = 1'000'000'000;
  options.replicate = options.batch = options.sequence = false;
  auto const split = checked_plan(chain, options);
  REQUIRE(split.runs.size() == 3);
  CHECK(split.layouts[0].operators[0].weights[0].layout == weight_layout::columns);  // to gather parts takes half as long as to sum terms
  CHECK(split.layouts[2].operators[0].weights[0].layout == weight_layout::vocabulary);
  CHECK(split.layouts[2].operators[1].reads == activation_layout::hidden);  // the loss on parts of the vocabulary
  auto two = options;                                                       // gradients between two groups, once in a step
  two.data = 2;
  auto const gradients = checked_plan(chain, two);
  std::int64_t bytes = 0, expected = 0;
  for (auto const& block :
       {chain.blocks[0], chain.blocks[1], chain.blocks[1], chain.blocks[1], chain.blocks[1], chain.blocks[1], chain.blocks[2]})
    for (auto const& o : block)
      for (auto const& w : o.weights) {
        bytes += w.in * w.out / 4 * 2;
        expected += collective_time(collective::all_reduce, w.in * w.out / 4 * 2, {2, 4}, two.links);
      }
  CHECK(bytes == (2 * v * h + 5 * 12 * h * h) / 4 * 2);
  CHECK(gradients.time.value == split.time.value + expected);
  options.devices = 8;  // four heads do not suit eight devices: attention on each
  CHECK(checked_plan(chain, options).layouts[1].operators[1].reads == activation_layout::replicated);
  options.replicated = false;  // and nothing else is allowed
  CHECK(checked_plan(chain, options).status == status::infeasible);
  CHECK(checked_plan(chain, options).shortage == 0);
  options.replicated = true;
  auto few = plain_devices(4, 256);  // whole sequences: three do not suit four devices
  few.sequences = 3;
  few.replicated = few.sequence = few.split = false;
  CHECK(checked_plan(chain, few).status == status::infeasible);
  few.sequences = 8;
  CHECK(checked_plan(chain, few).status == status::feasible);
  CHECK(checked_plan({}, options) == layout_plan{.status = status::feasible});
  options.devices = 1;
  options.replicate = true;
  auto const alone = checked_plan(chain, options);
  CHECK(alone.bytes == (2 * v * h + 5 * 12 * h * h) * 18 + 256 * 2 * (5 * 14 * h + h + v));
}

TEST_CASE("plan_layouts: the work grows with the logarithm of the number of layers") {
  auto const h = 1024;
  auto options = plain_devices(8, 8192);
  auto const plan = [&](std::uint32_t layers) {
    options.memory = (12 * h * h * 18 / 8 + 8192LL * h * 2 * 4) * layers;
    return checked_plan(one(plain_layer(h, 16), layers), options);
  };
  auto const few = plan(100), many = plan(10'000);
  CHECK(many.operations < 2 * few.operations);
  CHECK(many.evaluated == few.evaluated);  // a block is planned once
  CHECK(few.time.gap() < 0.002);
  CHECK(many.time.gap() < 0.00002);
}

TEST_CASE("plan_layouts: what is refused") {
  auto const says = [](layout_chain const& c, layout_setting const& o) {
    return ballast_test::refusal([&] { return plan_layouts(c, o); });
  };
  auto const good = one(plain_layer(64, 4));
  auto const o = plain_devices(2, 64);
  auto bad = o;
  bad.tokens = 0;
  CHECK(says(good, bad) == "tokens = 0 must be in [1, 4294967296]");
  bad = o;
  bad.tuning.points = 3;
  CHECK(says(good, bad) == "tuning.points = 3 must be in [4, 65536]");
  auto chain = good;
  chain.runs = {{1, 1}};
  CHECK(says(chain, o) == "runs[0] = 1 is no block");
  chain.runs = {{0, 0}};
  CHECK(says(chain, o) == "runs[0].count = 0 must be positive");
  chain = good;
  chain.blocks[0].pop_back();
  CHECK(says(chain, o) == "blocks[0] does not close what it opens");
  chain = good;
  chain.blocks[0][1].opens = true;
  CHECK(says(chain, o) == "blocks[0][1] opens what is open");
  chain = good;
  chain.blocks[0][2].weights[0].in = -1;
  CHECK(says(chain, o) == "blocks[0][2] has a weight with -1, not in [0, 2^24]");
  chain = good;
  chain.blocks[0][2].weights.clear();
  CHECK(says(chain, o) == "blocks[0][2] has 0 weights");
  chain = good;
  chain.blocks[0][1].weights = {{}};
  CHECK(says(chain, o) == "blocks[0][1] has a matrix, but not layout_rule::weights");
}

}  // namespace test_weights_plan_layouts
