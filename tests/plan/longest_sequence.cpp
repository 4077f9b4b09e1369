// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/longest_sequence.hpp>
#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"
#include "support/published_peaks.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace test_plan_longest_sequence {

using namespace ballast;
using ballast_test::refusal;

namespace {

struct drawn {
  transformer model;
  training_setting by;
};
/// A published run with kernels, framework, loss and recomputation drawn at random, and the memory that a random sequence takes.
drawn draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const of = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  auto const rows = ballast_test::megatron_peaks();
  auto const& row = rows[static_cast<std::size_t>(of(rows.size()))];
  drawn out{row.model, row.by};
  auto& m = out.by.model;
  m.kernels.flash = of(2) == 0;
  m.kernels.loader_mask = of(4) == 0;
  m.kernels.attention_dropout = of(2) == 0;
  m.attention = of(2) == 0 ? attention_kernel::fused : attention_kernel::stored_scores;
  m.loss = {.how = static_cast<head_loss::kind>(of(9)), .chunks = 1 + of(4)};
  if (of(2) == 0) m.framework = frameworks[static_cast<std::size_t>(of(frameworks.size()))];
  if (of(4) == 0) m.language = {.what = trained::low_rank};
  if (of(2) == 0) out.by.recompute = {.what = recompute_setting::kind::uniform};
  out.by.micro_batch = 1 + of(3);
  out.by.sequence = 1 + of(3000);
  out.by.pipeline.memory = largest_of(memory_of(out.model, out.by)).peak();
  return out;
}

}  // namespace

TEST_CASE("longest_sequence: it fits, and one unit more does not", "[longest_sequence][property]") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    auto [model, by] = draw(seed);
    auto const unit = std::int64_t{1} << (seed % 8);
    CAPTURE(seed, unit, by.sequence);
    auto const found = longest_sequence(model, by, {.unit = unit});
    CHECK(found.tokens % unit == 0);
    CHECK(found.tokens + unit > by.sequence);  // whose memory it is
    auto const of = [&](std::int64_t tokens) {
      by.sequence = tokens;
      return memory_of(model, by);
    };
    if (found.tokens > 0) CHECK(largest_of(of(found.tokens)).peak() <= by.pipeline.memory);
    auto const next = of(found.tokens + unit);
    CHECK(largest_of(next).peak() > by.pipeline.memory);
    CHECK(found.next == largest_of(next));
    CHECK(found.next == next[found.stage]);
  }
}

TEST_CASE("longest_sequence: any pack fits, and a pack of one unit more does not", "[longest_sequence][property]") {
  std::mt19937 random(5);
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    auto [model, by] = draw(seed);
    auto const unit = std::int64_t{1} << (seed % 8);
    CAPTURE(seed, unit, by.sequence);
    auto const found = longest_sequence(model, by, {.unit = unit, .packed = true});
    CHECK(found.tokens % unit == 0);
    CHECK(largest_of(memory_of_pack(model, by, found.tokens + unit)).peak() > by.pipeline.memory);
    CHECK(found.next == memory_of_pack(model, by, found.tokens + unit)[found.stage]);
    if (found.tokens == 0) continue;
    for (int k = 0; k < 8; ++k) {
      batch_shape pack{};
      by.micro_batch = 0;
      by.sequence = 1;
      for (auto left = found.tokens; left > 0 && by.micro_batch <= k * k;) {
        auto const length = k == 0 ? left : 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left));
        left -= length;
        pack.tokens += length;
        pack.squares += length * length;
        ++by.micro_batch;
      }
      CHECK(largest_of(memory_of(model, by, pack)).peak() <= by.pipeline.memory);
    }
  }
}

TEST_CASE("longest_sequence: a device that is full before, and bytes beyond 2^63", "[longest_sequence]") {
  auto const model = transformer_preset("llama-3.1-8b");
  training_setting by;
  by.model.framework = framework_named("megatron");
  auto const none = longest_sequence(model, by);
  CHECK(none.tokens == 0);
  CHECK(none.next == memory_of_pack(model, by, 1)[0]);
  by.model.attention = attention_kernel::stored_scores;
  by.pipeline.memory = std::int64_t{1} << 62;
  auto const much = longest_sequence(model, by, {.unit = 1 << 20, .packed = true});
  CHECK(much.tokens > 1 << 24);
  CHECK(largest_of(memory_of_pack(model, by, much.tokens)).peak() <= by.pipeline.memory);
  CHECK(refusal([&] { return memory_of_pack(model, by, std::int64_t{1} << 30); }) == "the bytes of stage 0 reach 2^63");
  by.model.attention = attention_kernel::fused;
  auto const all = longest_sequence(model, by, {.packed = true});
  CHECK(all.tokens == std::int64_t{1} << 30);
  CHECK(all.next == memory_parts{});
  by.micro_batch = 3;
  CHECK(longest_sequence(model, by).tokens == (std::int64_t{1} << 30) / 3);
}

TEST_CASE("longest_sequence: refuses what is out of range", "[longest_sequence]") {
  auto const model = transformer_preset("llama-3.1-8b");
  training_setting by;
  CHECK(refusal([&] { return longest_sequence(model, by, {.unit = 0}); }) == "unit = 0 must be in [1, 1073741824]");
  CHECK(refusal([&] { return memory_of_pack(model, by, 0); }) == "tokens = 0 must be in [1, 1073741824]");
  by.pipeline.stages = 40;
  CHECK(refusal([&] { return longest_sequence(model, by); }) == "stages = 40 of 1 chunks are more than the 34 layers");
}

}  // namespace test_plan_longest_sequence
