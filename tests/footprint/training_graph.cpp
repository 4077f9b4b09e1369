// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/training_graph.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/symbolic.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace test_footprint_training_graph {

using namespace ballast;

namespace {

std::int64_t bytes_of(graph const& g, tensor_kind kind, bool own = true) {
  std::int64_t sum = 0;
  for (auto const& t : g.tensors)
    if (t.kind == kind && (t.shares == graph_tensor<>::own) == own) sum += t.bytes;
  return sum;
}
graph of(std::string const& name, training_graph_options const& options = {}) {
  return training_graph(transformer_preset(name), std::int64_t{2}, std::int64_t{128}, options);
}

}  // namespace

TEST_CASE("training_graph: holds the parameters of the model, each with its gradient and state, and updates each once") {
  for (auto const* name : {"gpt2-xl", "llama-3.1-8b", "qwen2.5-7b"}) {
    CAPTURE(name);
    auto const g = of(name, {.state = {.parameter = 2, .gradient = 4, .optimizer = 12}});
    REQUIRE(check_graph(g).valid());
    auto const count = parameters(transformer_preset(name));
    CHECK(bytes_of(g, tensor_kind::parameter) == 2 * count);
    CHECK(bytes_of(g, tensor_kind::state) == 12 * count);
    CHECK(bytes_of(g, tensor_kind::parameter, false) == 2 * count);
    auto const uses = uses_of(g);
    std::int64_t gradients = 0;
    for (std::size_t v = 0; v < g.size(); ++v)
      if (g.operators[v].kind == operator_kind::update)
        for (auto const t : g.inputs[v]) gradients += g.tensors[t].kind == tensor_kind::gradient ? g.tensors[t].bytes : 0;
    CHECK(gradients == 4 * count);
    for (std::size_t t = 0; t < g.tensors.size(); ++t)  // nothing is made for nobody
      CHECK((g.tensors[t].kept || !uses.readers[t].empty()));
    CHECK(std::is_sorted(g.operators.begin(), g.operators.end(), [](auto const& a, auto const& b) { return a.kind < b.kind; }));
  }
}

TEST_CASE("training_graph: the backward reads what PyTorch saves") {
  transformer const model{.layers = 1, .hidden = 8, .query_heads = 2, .kv_heads = 1, .head_width = 4, .ffn = 16, .vocabulary = 32};
  auto const saved = [&](bool scores) {  // bytes of activations that a backward operator reads
    auto const g = training_graph(model, std::int64_t{3}, std::int64_t{10}, {.scores = scores});
    auto const uses = uses_of(g);
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < g.tensors.size(); ++t) {
      auto const readers = uses.readers[t];
      auto const late = std::any_of(readers.begin(), readers.end(), [&](auto v) { return g.operators[v].kind == operator_kind::backward; });
      if (late && g.tensors[t].kind == tensor_kind::activation) sum += g.tensors[t].bytes;
    }
    return sum;
  };
  // Input of both norms 2 h, normed 2 h, query h, key and value h / 2 each, attention h, gate, up and product 3 f, final norm and its
  // input 2 h, logits V; two bytes each; and eight for the index of each token.
  std::int64_t const tokens = 30, h = 8, f = 16;
  CHECK(saved(false) == tokens * (2 * (4 * h + 2 * h + h + 3 * f + 2 * h + 32) + 8));
  CHECK(saved(true) == saved(false) + tokens * 10 * 2 * 2);  // scores of two heads; the attention's output is the next matrix's input
}

TEST_CASE("training_graph: numbers are those of the symbolic graph") {
  auto const model = transformer_preset("gpt2-xl");
  for (auto const scores : {false, true}) {
    training_graph_options const options{.scores = scores};
    auto const known = training_graph(model, std::int64_t{4}, std::int64_t{512}, options);
    auto const open = training_graph(model, symbolic::of(0), symbolic::of(1), options);
    REQUIRE(check_graph(open).valid());
    REQUIRE(open.inputs == known.inputs);
    REQUIRE(open.outputs == known.outputs);
    std::vector<std::int64_t> const values{4, 512};
    for (std::size_t t = 0; t < known.tensors.size(); ++t) CHECK(open.tensors[t].bytes(values) == known.tensors[t].bytes);
    for (std::size_t v = 0; v < known.size(); ++v) CHECK(open.operators[v].time(values) == known.operators[v].time);
  }
}

TEST_CASE("training_graph: a body without vocabulary, and what is not supported") {
  auto const vision = training_graph(vision_presets[0].model.body, std::int64_t{1}, std::int64_t{577});
  CHECK(check_graph(vision).valid());
  CHECK(std::none_of(vision.tensors.begin(), vision.tensors.end(), [](auto const& t) { return t.name == "gradient of tokens"; }));
  auto const said = [](char const* name) { return ballast_test::refusal([&] { return of(name); }); };
  CHECK(said("mixtral-8x7b") == "training_graph: models with experts are not supported");
  CHECK(said("deepseek-v2") == "training_graph: models with experts are not supported");
  auto tall = transformer_preset("gpt2-xl");
  tall.layers = 0;
  CHECK(ballast_test::refusal([&] { return training_graph(tall, std::int64_t{1}, std::int64_t{1}); }) == "layers = 0 must be in [1, 1024]");
}

}  // namespace test_footprint_training_graph
