// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/repeated_subgraphs.hpp>
#include <ballast/methods/tap.hpp>
#include <ballast/methods/tap_operators.hpp>
#include <ballast/weights/check.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_methods_tap {

using namespace ballast;

namespace {

transformer model_of(char const* name) { return transformer_preset(name); }

layout_setting eight(std::int64_t tokens, std::int64_t memory) {
  return {.devices = 8,
          .tokens = tokens,
          .memory = memory,
          .flops_per_s = 400'000'000'000'000,
          .links = datasheet_fabric(device_named("h100"))};
}

std::vector<layout_operator> written_out(layout_chain const& chain) {
  std::vector<layout_operator> out;
  for (auto const& r : chain.runs)
    for (std::uint32_t i = 0; i < r.count; ++i) out.insert(out.end(), chain.blocks[r.block].begin(), chain.blocks[r.block].end());
  for (auto& o : out) o.name.clear();
  return out;
}
std::vector<layout_operator> without_names(std::vector<layout_operator> operators) {
  for (auto& o : operators) o.name.clear();
  return operators;
}

}  // namespace

TEST_CASE("tap::fold: a model is its ends and one layer, in any notation") {
  auto const operators = tap::operators_of(model_of("llama-3.1-8b"), 4096);
  REQUIRE(check_graph(tap::graph_of(operators)).valid());
  auto const chain = tap::fold(operators);
  REQUIRE(chain.blocks.size() == 3);
  CHECK(chain.runs == std::vector<block_run>{{0, 1}, {1, 32}, {2, 1}});
  CHECK(chain.blocks[1].size() == 8);
  CHECK(written_out(chain) == without_names(operators));
  auto const unnamed = without_names(operators);  // by edges alone, to which the last norm is one like those of layers
  CHECK(tap::fold(unnamed).runs == std::vector<block_run>{{0, 1}, {1, 31}, {2, 1}});
  CHECK(written_out(tap::fold(unnamed)) == unnamed);
  // A layer with another width in the middle: three blocks of layers with names; without, still what was written.
  auto odd = operators;
  auto const at = 1 + 8 * 20 + 5;
  odd[at].weights[0].out += 128;
  auto const cut = tap::fold(odd);
  CHECK(cut.runs == std::vector<block_run>{{0, 1}, {1, 20}, {2, 1}, {1, 11}, {3, 1}});
  CHECK(written_out(cut) == without_names(odd));
  CHECK(written_out(tap::fold(without_names(odd))) == without_names(odd));
  CHECK(tap::fold({}).runs.empty());
}

TEST_CASE("tap: a training step folds into its layers, forward, backward and update together") {
  auto const g = training_graph(transformer_preset("gpt2-xl"), std::int64_t{1}, std::int64_t{1024});
  auto epl = epl_subgraph_limits;
  epl.names = true;
  for (auto const& limits : {subgraph_limits{.names = true}, epl}) {
    auto const found = find_repeated_subgraphs(g, limits);
    REQUIRE(!found.classes.empty());
    CHECK(found.classes[0].copies.size() == 48);
    CHECK(found.classes[0].copies[0].size() == 34);
  }
  CHECK(find_repeated_subgraphs(g, epl).classes.size() == 1);
  auto const by_edges = find_repeated_subgraphs(g);
  CHECK(by_edges.classes[0].copies.size() == 47);  // the backward pass of one end of the model has other edges
  CHECK(by_edges.classes[0].copies[0].size() == 32);
}

TEST_CASE("tap::shard: what is enumerated, what is planned, and how it compares") {
  auto const operators = tap::operators_of(model_of("llama-3.1-8b"), 8192);
  auto const valid = [](tap::sharded_model const& made) {
    CHECK(check_layouts(made.chain, made.plan, made.on).valid());
    return made;
  };
  auto const options = eight(32'768, 80'000'000'000);
  auto const best = valid(tap::shard(operators, options));
  REQUIRE(best.plan.status == status::feasible);
  CHECK(best.weights == 7 * 32 + 2);
  CHECK(best.folded_weights == 7 + 2);
  CHECK(best.plan.time.gap() < 0.001);
  auto const megatron = valid(tap::shard_as_megatron(operators, options)), data = valid(tap::shard_as_data_parallel(operators, options));
  CHECK(best.plan.time.value < megatron.plan.time.value);
  CHECK(data.plan.status == status::infeasible);  // 8.03 x 10^9 parameters of 18 bytes
  CHECK(data.plan.shortage > 60'000'000'000);
  std::vector<weight_layout> used;  // in the order of the operators, without norms
  for (auto const& l : megatron.plan.layouts)
    for (std::size_t v = 0; v < l.operators.size(); ++v)
      if (megatron.chain.blocks[l.block][v].rule == layout_rule::weights)
        for (auto const& w : l.operators[v].weights) used.push_back(w.layout);
  using enum weight_layout;
  CHECK(used == std::vector{vocabulary, columns, columns, columns, rows, columns, columns, rows, vocabulary});
  auto odd = options;  // 8 heads of keys on 16 devices
  odd.devices = 16;
  CHECK(tap::shard_as_megatron(operators, odd).plan.status == status::infeasible);
  CHECK(tap::shard_as_megatron(operators, odd).plan.shortage == 0);
  // With room for everything, data parallelism is the best beyond P / (4 h) tokens, and Megatron's plan well below.
  std::int64_t const layer = 218'112'000, border = layer / (4 * 4096);
  for (auto const tokens : {border / 4 / 8 * 8, border * 4 / 8 * 8}) {
    CAPTURE(tokens);
    auto const roomy = eight(tokens, std::int64_t{1} << 60);
    auto const m = valid(tap::shard_as_megatron(operators, roomy)), d = valid(tap::shard_as_data_parallel(operators, roomy)),
               b = valid(tap::shard(operators, roomy));
    CHECK((d.plan.time.value < m.plan.time.value) == (tokens > border));
    CHECK(b.plan.time.value <= d.plan.time.value);
    CHECK(b.plan.time.value <= m.plan.time.value);
    CHECK(b.plan.time.optimal());
  }
}

TEST_CASE("tap::shard_mesh: groups of each size") {
  auto const operators = tap::operators_of(model_of("qwen2.5-7b"), 4096);
  auto const options = eight(65'536, 80'000'000'000);
  auto const mesh = tap::shard_mesh(operators, options);
  REQUIRE(mesh.plan.status == status::feasible);
  CHECK(mesh.on.devices * mesh.on.data == 8);
  CHECK(check_layouts(mesh.chain, mesh.plan, mesh.on).valid());
  CHECK(mesh.plan.time.value <= tap::shard(operators, options).plan.time.value);
  auto const little = tap::shard_mesh(operators, eight(65'536, 1'000'000'000));
  CHECK(little.plan.status == status::infeasible);
  CHECK(little.plan.shortage > 0);
}

TEST_CASE("tap: experts are split where they are many") {
  auto const operators = tap::operators_of(model_of("mixtral-8x7b"), 4096);
  auto options = eight(65'536, 141'000'000'000);
  options.state_bytes = 12;
  auto const made = tap::shard(operators, options);
  REQUIRE(made.plan.status == status::feasible);
  CHECK(check_layouts(made.chain, made.plan, made.on).valid());
  for (auto const& l : made.plan.layouts)
    for (std::size_t v = 0; v < l.operators.size(); ++v)
      if (made.chain.blocks[l.block][v].weights.size() == 1 && made.chain.blocks[l.block][v].weights[0].kind == weight_kind::experts)
        CHECK(l.operators[v].weights[0].layout == weight_layout::experts);
}

TEST_CASE("tap: a device holds whole experts") {
  auto model = model_of("mixtral-8x7b");
  model.layers = 2;
  auto const operators = tap::operators_of(model, 4096);
  for (std::int64_t const devices : {2, 3, 4, 6, 8, 12, 24}) {  // 3, 6, 12 and 24 divide the 24 matrices, but not the 8 experts
    CAPTURE(devices);
    auto options = eight(4096 * devices, std::int64_t{1} << 50);
    options.devices = options.sequences = devices;
    options.tokens = 4096;  // few enough that experts are split where they can be
    auto const made = tap::shard(operators, options);
    REQUIRE(made.plan.status == status::feasible);
    auto whole = false;
    for (auto const& l : made.plan.layouts)
      for (auto const& o : l.operators)
        for (auto const& w : o.weights) whole = whole || w.layout == weight_layout::experts;
    CHECK(whole == (8 % devices == 0));
    auto spoilt = made.chain;  // as if experts were matrices
    for (auto& block : spoilt.blocks)
      for (auto& o : block)
        for (auto& w : o.weights) w.row_units = w.kind == weight_kind::experts ? 24 : w.row_units;
    auto const split = plan_layouts(spoilt, options);
    REQUIRE(check_layouts(spoilt, split, options).valid());
    CHECK(check_layouts(made.chain, split, options).valid() == (8 % devices == 0));
  }
}

TEST_CASE("tap: the router's gradient is summed where its experts read") {
  auto model = model_of("mixtral-8x7b");
  model.layers = 1;
  auto const operators = tap::operators_of(model, 512);
  auto options = eight(4096, std::int64_t{1} << 50);
  for (std::int64_t const data : {1, 2}) {
    options.data = data;
    auto const made = tap::shard(operators, options);
    REQUIRE(made.plan.status == status::feasible);
    std::vector<std::int64_t> ranks;
    for (auto const& l : made.plan.layouts)
      for (auto const& e : exchanges_of(made.chain.blocks[l.block], l, options))
        if (e.pass == exchange_pass::gradients && e.bytes == 4096 * 8 * options.gradient_bytes) ranks.push_back(e.ranks);
    CHECK(ranks == std::vector<std::int64_t>{8 * data});
  }
}

TEST_CASE("tap: words of DTensor and Megatron-LM") {
  using enum weight_layout;
  using kind = weight_kind;
  std::vector<std::pair<std::string, std::string>> words;
  for (auto const& [k, l] : {std::pair{kind::matrix, columns}, std::pair{kind::matrix, rows}, std::pair{kind::matrix, replicated},
                             std::pair{kind::embedding, vocabulary}, std::pair{kind::embedding, columns}, std::pair{kind::head, vocabulary},
                             std::pair{kind::head, rows}, std::pair{kind::experts, experts}})
    words.emplace_back(tap::dtensor_word(k, l), tap::megatron_word(k, l));
  CHECK(words == std::vector<std::pair<std::string, std::string>>{{"Shard(0)", "ColumnParallelLinear"},
                                                                  {"Shard(1)", "RowParallelLinear"},
                                                                  {"Replicate()", "replicated"},
                                                                  {"Shard(0)", "VocabParallelEmbedding"},
                                                                  {"Shard(1)", "none"},
                                                                  {"Shard(0)", "ColumnParallelLinear"},
                                                                  {"Shard(1)", "RowParallelLinear"},
                                                                  {"Shard(0)", "expert parallel"}});
}

}  // namespace test_methods_tap
