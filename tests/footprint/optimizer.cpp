// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace test_footprint_optimizer {

using namespace ballast;
using ballast_test::refusal;

constexpr double gib = 1024.0 * 1024 * 1024;
bool near(double bytes, double published, double digit) { return std::fabs(bytes - published) <= digit / 2; }
std::int64_t per_parameter(training_state const& s) { return s.parameter + s.gradient + s.optimizer; }

TEST_CASE("optimizer: the bytes per parameter that are published") {
  STATIC_REQUIRE(optimizer_named("adam").state == training_state{});  // the default of the planners
  CHECK(per_parameter(optimizer_named("adam").state) == 18);
  CHECK(per_parameter(optimizer_named("adam-bf16-gradients").state) == 16);
  CHECK(per_parameter(optimizer_named("adam-8bit").state) == 18 - 6);  // two moments of 1 byte instead of 4
  CHECK(per_parameter(optimizer_named("sgd").state) == 10);
  CHECK(per_parameter(optimizer_named("sgd-momentum").state) == 14);
  CHECK(state_bytes(10, {}, optimizer_named("sgd").state) == 100);
  for (std::size_t i = 0; i < optimizers.size(); ++i) CHECK(&optimizer_named(optimizers[i].name) == &optimizers[i]);
  CHECK(refusal([] { return optimizer_named("Adam").rank; }) ==
        "no optimizer \"Adam\"; there are adam, adam-bf16-gradients, adam-8bit, adafactor, sgd, sgd-momentum, galore, adam-fp32, "
        "adam-bf16, muon");
}

TEST_CASE("optimizer: M6-T has 2.089e9 parameters on each of 480 devices of 32 GB, which Adam does not fit into and Adafactor does") {
  std::int64_t const h = 1024, f = 21248, experts = 960, layers = 24;
  auto const mine = layers * (experts * 2 * h * f + 4 * h * h) / 480;
  CHECK(near(static_cast<double>(mine), 2.089e9, 0.001e9));
  auto const gb = [&](training_state const& s) { return static_cast<double>(mine * per_parameter(s)) / 1e9; };
  CHECK(near(gb(optimizer_named("adam").state), 37.6, 0.1));
  CHECK(near(gb(optimizer_named("adam-bf16-gradients").state), 33.4, 0.1));
  // two experts in each of the 24 layers of a device; rows and columns of the factors are three thousandths of the rest
  auto const& adafactor = optimizer_named("adafactor");
  auto const held = state_bytes({.in = h, .out = f, .copies = 2 * 2 * layers}, adafactor);
  CHECK(near(static_cast<double>(held.total()) / 1e9, 20.9, 0.1));
  CHECK(held.total() < 32'000'000'000);
}

TEST_CASE("optimizer: the states of a matrix, by the papers' formulas") {
  weight_matrix const m{.in = 4096, .out = 14336, .copies = 3}, vector{.in = 4096}, small{.in = 64, .out = 63};
  std::int64_t const n = 4096 * 14336;
  CHECK(state_bytes(m, optimizer_named("adam")) == state_size{.parameter = 6 * n, .gradient = 12 * n, .optimizer = 36 * n});
  CHECK(state_bytes(m, optimizer_named("adam")).total() == 3 * 18 * n);
  CHECK(state_bytes(m, optimizer_named("adafactor")).optimizer == 3 * (4 * n + 4 * (4096 + 14336)));
  CHECK(state_bytes(vector, optimizer_named("adafactor")).optimizer == 8 * 4096);
  CHECK(state_bytes({.out = 4096}, optimizer_named("adafactor")).optimizer == 8 * 4096);

  // blocks of 256: two scales of 4 bytes each, 1/32 byte per parameter
  CHECK(state_bytes(m, optimizer_named("adam-8bit")).optimizer == 3 * (6 * n + n / 32));
  CHECK(state_bytes({.in = 4096 + 1}, optimizer_named("adam-8bit")).optimizer == 6 * 4097 + 8 * 17);
  CHECK(state_bytes(vector, optimizer_named("adam-8bit")).optimizer == 6 * 4096 + 8 * 16);
  CHECK(state_bytes(small, optimizer_named("adam-8bit")).optimizer == 12 * 64 * 63);  // below 4,096 parameters as Adam
  auto paper = optimizer_named("adam-8bit");
  paper.block = 2048;
  CHECK(state_bytes(m, paper).optimizer == 3 * (6 * n + n / 256));

  auto galore = optimizer_named("galore");  // projector m r, moments 2 n r, for m <= n
  CHECK(state_bytes(m, galore).optimizer == 3 * 2 * (4096 * 128 + 2 * 14336 * 128));
  CHECK(state_bytes({.in = 14336, .out = 4096}, galore).optimizer == 2 * (4096 * 128 + 2 * 14336 * 128));  // whichever side is shorter
  CHECK(state_bytes(small, galore).optimizer == 2 * (63 * 63 + 2 * 64 * 63));                              // a rank is at most the side
  CHECK(state_bytes(vector, galore).optimizer == 2 * 2 * 4096);
  CHECK(state_bytes({.copies = 0}, galore) == state_size{});

  auto muon = optimizer_named("muon");  // matrices have a moment less than with Adam, vectors as many
  CHECK(state_bytes(m, muon).optimizer == 3 * 8 * n);
  CHECK(state_bytes(vector, muon) == state_bytes(vector, optimizer_named("adam")));
  muon.state.optimizer = muon.second = 2;  // moments of 16 bits, and no float32 parameters
  CHECK(state_bytes(m, muon).optimizer == 3 * 2 * n);
  CHECK(state_bytes(vector, muon).optimizer == 4 * 4096);
}

TEST_CASE("optimizer: Muon's matrices have half of the moments of Adam, embedding, head and norms all of them") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const& muon = optimizer_named("muon");
  auto const& adam = optimizer_named("adam");
  std::int64_t matrices = 0;
  for_each_matrix(model, 0, [&](weight_matrix const& m) { matrices += m.in * m.out * m.copies; });
  auto const less = layer_states(model, 0, adam).total().optimizer - layer_states(model, 0, muon).total().optimizer;
  CHECK(less == 4 * matrices);
  CHECK(layer_parameters(model, 0) - matrices == 2 * 4096);
  auto const embedding = embedding_parameter_groups(model);
  CHECK(states_of(embedding, muon) == states_of(embedding, adam));
}

TEST_CASE("optimizer: GaLore's table of weights and states of LLaMA of 60M to 1B, in bfloat16, within 10 %") {
  struct row {
    std::int64_t layers, hidden, ffn, rank;
    double whole, projected;  // GiB, arXiv 2403.03507, table 2
  };
  for (auto const& r : {row{8, 512, 1376, 128, 0.36, 0.24}, row{12, 768, 2048, 256, 0.76, 0.52}, row{24, 1024, 2736, 256, 2.06, 1.22},
                        row{24, 2048, 5461, 512, 7.80, 4.38}}) {
    CAPTURE(r.hidden);
    transformer const model{
        .layers = r.layers, .hidden = r.hidden, .query_heads = 1, .kv_heads = 1, .head_width = r.hidden, .ffn = r.ffn, .vocabulary = 32000};
    auto galore = optimizer_named("galore");
    galore.rank = r.rank;
    state_size sum = state_bytes({.in = 2 * model.vocabulary * model.hidden}, galore);  // embedding and head are not projected
    for (std::int64_t l = 0; l < model.layers; ++l)
      for_each_matrix(model, l, [&](weight_matrix const& m) { sum += state_bytes(m, galore); });
    CHECK(std::fabs(static_cast<double>(sum.parameter + sum.optimizer) / gib / r.projected - 1) < 0.1);
    CHECK(std::fabs(static_cast<double>(3 * sum.parameter) / gib / r.whole - 1) < 0.1);
  }
}

TEST_CASE("optimizer: what offloading leaves on the device, against published layouts") {
  auto const& adam = optimizer_named("adam").state;
  CHECK(place(adam, offload::none) == placed_states<training_state>{.device = adam, .host = {0, 0, 0}});
  CHECK(place(adam, offload::optimizer) == placed_states<training_state>{.device = {2, 4, 0}, .host = {0, 4, 12}});
  CHECK(place(adam, offload::gradients) == placed_states<training_state>{.device = {2, 0, 0}, .host = {0, 4, 12}});
  CHECK(place(adam, offload::parameters) == placed_states<training_state>{.device = {0, 0, 0}, .host = {2, 4, 12}});
  auto const matrix = state_bytes({.in = 64, .out = 64}, optimizer_named("adafactor"));
  CHECK(place(matrix, offload::gradients).device == state_size{.parameter = matrix.parameter});
  CHECK(place(matrix, offload::gradients).host == state_size{.gradient = matrix.gradient, .optimizer = matrix.optimizer});

  auto const kept = place(adam, offload::optimizer).device;  // ms-swift: optimizer_cpu_offload, fraction 1
  CHECK(near(static_cast<double>(state_bytes(parameters(transformer_preset("qwen2.5-72b")), {.tensor = 8}, kept)) / gib, 50.8, 0.1));
  auto const& moe = transformer_preset("qwen3-30b-a3b");
  std::int64_t experts = 0;
  for (std::int64_t l = 0; l < moe.layers; ++l)
    for_each_matrix(moe, l, [&](weight_matrix const& m) { experts += m.copies > 1 ? m.copies * m.in * m.out : 0; });
  auto const mine = experts / 4 + (parameters(moe) - experts);  // 4 GPUs, EP 4
  CHECK(near(static_cast<double>(state_bytes(mine, {}, kept)) / gib, 49.1, 0.1));
}

TEST_CASE("optimizer: the estimates of DeepSpeed's documentation for 2,851M parameters on 8 devices with ZeRO-3") {
  std::int64_t const p = 2'851'000'000, gathered = 4 * 32'000'000;  // the largest module's parameters are gathered, 4 bytes each
  parallelism const zero3{.data = 8, .zero = 3};
  auto const gpu = [&](offload moved) {
    return static_cast<double>(gathered + state_bytes(p, zero3, place(optimizer_named("adam").state, moved).device)) / gib;
  };
  auto const cpu = [&](offload moved) {  // half as much again for buffers
    return 1.5 * static_cast<double>(state_bytes(p, {}, place(optimizer_named("adam").state, moved).host)) / gib;
  };
  CHECK(near(gpu(offload::none), 6.09, 0.01));
  CHECK(near(gpu(offload::gradients), 0.78, 0.01));
  CHECK(near(cpu(offload::gradients), 63.72, 0.01));
  CHECK(near(gpu(offload::parameters), 0.12, 0.01));
  CHECK(near(cpu(offload::parameters), 71.69, 0.01));
}

TEST_CASE("optimizer: what makes no sense is refused") {
  auto const& adam = optimizer_named("adam");
  CHECK(refusal([&] { return state_bytes({.in = 0}, adam).parameter; }) == "in = 0 must be in [1, 4503599627370496]");
  CHECK(refusal([&] { return state_bytes({.in = 1 << 26, .out = (1 << 26) + 1}, adam).parameter; }) ==
        "out = 67108865 must be in [1, 67108864]");
  CHECK(refusal([&] { return state_bytes({.copies = -1}, adam).parameter; }) == "copies = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([&] { return state_bytes(weight_matrix{}, {.name = "", .rank = 0}).parameter; }) ==
        "rank = 0 must be in [1, 4503599627370496]");
  CHECK(refusal([&] { return state_bytes(weight_matrix{}, {.name = "", .block = 0}).parameter; }) ==
        "block = 0 must be in [1, 4503599627370496]");
  CHECK(refusal([&] { return state_bytes(weight_matrix{}, {.name = "", .state = {.gradient = -1}}).parameter; }) ==
        "gradient = -1 must be in [0, 256]");
}

}  // namespace test_footprint_optimizer
