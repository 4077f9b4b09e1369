// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/search_degrees.hpp>

#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"
#include "support/progress_log.hpp"
#include "support/published_settings.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace test_plan_search_degrees {

namespace {

using namespace ballast;
using ballast_test::refusal;

constexpr transformer dense{
    .layers = 10, .hidden = 512, .query_heads = 8, .kv_heads = 4, .head_width = 64, .ffn = 1536, .vocabulary = 32000};
constexpr transformer experts{.layers = 6,
                              .hidden = 512,
                              .query_heads = 8,
                              .kv_heads = 4,
                              .head_width = 64,
                              .vocabulary = 16000,
                              .experts = 8,
                              .active_experts = 2,
                              .expert_ffn = 512};
model_setting const adam{.optimizer = optimizer_named("adam")};
cluster const two_nodes{.mfu = 0.4,
                        .links = fabric{.per_node = 4,
                                        .inside = link_time(link_line{10'000'000, 200'000'000'000}),
                                        .between = link_time(link_line{20'000'000, 20'000'000'000})}};
pack_sizes const packs{.mean = {.tokens = 4000, .squares = 4'000'000}, .largest = {.tokens = 4096, .squares = 4096 * 4096}};

using family = std::array<std::int64_t, 4>;
family family_of(training_setting const& s) {
  return {s.model.spread.tensor, s.model.spread.context, s.model.expert, static_cast<std::int64_t>(s.pipeline.stages)};
}

/// What kernels reach on two nodes of four devices that wait for each other, and launch layers fast.
cluster kernels_of_two_nodes() {
  cluster out{.device = device_named("h100")};
  out.device.per_node = 4;
  out.time = times_of(out, adam);
  out.time->gradient_overlap = true;
  auto& rates = out.time->rates;
  rates.jitter = 50;
  rates.host /= 100;
  rates.host_experts /= 100;
  rates.sync_experts /= 100;
  return out;
}

/// The least step of each family by a search for each single setting, in which bounds exclude nothing; and the number of settings.
std::pair<std::map<family, std::int64_t>, std::uint64_t> by_single_settings(transformer const& model, search_options const& o,
                                                                            cluster const& on, model_setting const& by) {
  std::map<family, std::int64_t> least;
  std::uint64_t settings = 0;
  for (std::int64_t const tensor : {1, 2, 4, 8})
    for (std::uint64_t const stages : {1U, 2U, 3U, 4U, 6U, 8U})
      for (std::int64_t const context : {1, 2, 4, 8})
        for (std::int64_t const expert : {1, 2, 4, 8})
          for (std::int64_t const micro_batch : {1, 2, 4, 8, 16, 32})
            for (int const zero : {1, 2, 3})
              for (auto const& schedule : o.schedules)
                for (std::uint64_t const chunks : {2U, 3U, 4U, 5U, 6U}) {
                  auto const interleaved = std::holds_alternative<interleaved_schedule>(schedule);
                  if (!interleaved && chunks > 2) continue;
                  auto one = o;
                  one.tensor = {tensor};
                  one.stages = {stages};
                  one.context = {context};
                  one.expert = {expert};
                  one.micro_batch = {micro_batch};
                  one.zero = {zero};
                  one.schedules = {schedule};
                  if (stages == 1 && schedule != o.schedules.front()) continue;
                  if (o.gpus == tensor * static_cast<std::int64_t>(stages) && zero > 1) continue;  // nothing is shared
                  auto const all = static_cast<std::int64_t>(stages * chunks);
                  auto const even = model.layers % all == 0 || (model.layers + 2) % all == 0;
                  if (interleaved && stages > 1) {
                    if (!even) continue;
                    one.chunks = {chunks};
                  } else if (chunks > 2) {
                    continue;
                  }
                  auto const found = detail::degree_search<transformer>(model, packs, one, on, by).run();
                  if (found.per_pack) continue;
                  settings += found.settings;
                  if (found.ranked.empty()) continue;
                  auto const [at, added] = least.try_emplace(family_of(found.ranked[0].setting), found.ranked[0].step);
                  if (!added) at->second = (std::min)(at->second, found.ranked[0].step);
                }
  return {least, settings};
}

}  // namespace

TEST_CASE("search_degrees: bounds exclude no setting that is among the best") {
  std::vector<any_schedule> const all{one_f_one_b_schedule{}, interleaved_schedule{}, zb1p_schedule{}, zbv_schedule{}};
  cluster const datasheet;
  auto const kernels = kernels_of_two_nodes();
  auto pairs = adam, counted = adam;
  pairs.expert_tensor = 2;
  counted.framework = framework_named("megatron");
  struct {
    transformer const& model;
    std::int64_t gpus, memory, batch;
    cluster const& on = two_nodes;
    model_setting const& by = adam;
  } const cases[] = {{dense, 8, 60'000'000'000, 32},
                     {dense, 8, 5'400'000'000, 32},
                     {dense, 6, 5'200'000'000, 24},
                     {experts, 8, 5'000'000'000, 16},
                     {experts, 8, 60'000'000'000, 2, two_nodes, pairs},
                     {dense, 8, 5'400'000'000, 2, kernels},
                     {dense, 8, 5'400'000'000, 16, kernels},
                     {dense, 6, 60'000'000'000, 12, datasheet},
                     {experts, 8, 60'000'000'000, 4, kernels, pairs},
                     {experts, 8, 7'000'000'000, 8, kernels, counted}};
  for (auto const& c : cases) {
    if (ballast_test::sanitized && &c != cases + 1) continue;
    search_options o{.gpus = c.gpus, .memory = c.memory, .sequence = 4096, .global_batch = c.batch, .schedules = all};
    auto const [least, settings] = by_single_settings(c.model, o, c.on, c.by);
    std::vector<std::pair<std::int64_t, family>> best;
    for (auto const& [family, step] : least) best.emplace_back(step, family);
    std::sort(best.begin(), best.end());
    REQUIRE(best.size() > 4);
    for (std::size_t const keep : {std::size_t{1}, std::size_t{4}, best.size() + 1}) {
      o.keep = keep;
      auto const found = search_degrees(c.model, packs, o, c.on, c.by);
      CAPTURE(c.gpus, c.memory, c.batch, c.on.mfu.has_value(), keep);
      CHECK(found.settings == settings);
      CHECK(found.settings == found.excluded + found.unfit + found.planned);
      REQUIRE(found.ranked.size() == (std::min)(keep, best.size()));
      std::vector<std::int64_t> steps, least_steps;
      for (auto const& r : found.ranked) {
        steps.push_back(r.step);
        CHECK(least.at(family_of(r.setting)) == r.step);
        auto const chunks = r.plan.stages.partition.boundaries.size() - 1;
        CHECK((chunks == r.setting.pipeline.stages ? r.plan.time.value == r.step : r.plan.time.value <= r.step));
      }
      std::sort(steps.begin(), steps.end());
      for (std::size_t i = 0; i < steps.size(); ++i) least_steps.push_back(best[i].first);
      CHECK(steps == least_steps);
      CHECK(found.step == certificate{steps.front(), steps.front()});
      if (keep == 1) CHECK(found.excluded > found.settings / 2);
    }
  }
}

TEST_CASE("search_degrees: the bound on a pipeline is the least step in which its longest stages do all the work") {
  splitmix64 draw(38);
  auto const drawn = [&](std::uint64_t below) { return static_cast<std::int64_t>(uniform_below(below, draw)); };
  for (int round = 0; round < 1500; round += ballast_test::round_step) {
    ballast::detail::degrees at{.micro_batches = 1 + drawn(std::uint64_t{1} << drawn(13)), .stages = 2 + uniform_below(127, draw)};
    auto const time = 1 + drawn(std::uint64_t{1} << drawn(41));
    CAPTURE(at.micro_batches, at.stages, time);
    auto const done = [&](std::int64_t step) {  // stage s begins when the first micro-batch has passed those before it
      std::int64_t sum = 0;
      for (std::uint64_t s = 0; s < at.stages && sum < time; ++s) sum += divide_up(step - sum, at.micro_batches);
      return sum >= time;
    };
    auto const step = ballast::detail::least_step(time, at),
               share = divide_up(at.micro_batches * time, static_cast<std::int64_t>(at.stages));
    CHECK(step >= share);
    CHECK(done(step));
    CHECK((step == share || !done(step - 1)));
  }
}

TEST_CASE("search_degrees: a plan is no slower than chunks of equal time, which may recompute less within the same cuts") {
  auto model = dense;
  model.layers = 7;
  model.vocabulary = 0;
  auto eager = adam;
  eager.framework = framework_named("eager");
  search_options const o{
      .gpus = 4, .memory = 1'000'000'000, .sequence = 4096, .global_batch = 16, .stages = {2}, .schedules = {zbv_schedule{}}};
  auto const found = search_degrees(model, packs, o, {.mfu = 0.4}, eager);
  REQUIRE(found.status == status::feasible);
  for (auto const& r : found.ranked) CHECK(r.plan.time.value <= r.step);
}

TEST_CASE("search_degrees: settings fit, are valid and count all devices") {
  splitmix64 draw(7);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 3000; ++i) lengths.push_back(1 + static_cast<std::int64_t>(uniform_below(uniform_below(4096, draw) + 1, draw)));
  search_options const o{.gpus = 8, .memory = 6'000'000'000, .sequence = 4096, .global_batch = 20, .keep = 50};
  auto const found = search_degrees(lengths, dense, o, two_nodes, adam);
  REQUIRE(found.status == status::feasible);
  std::vector<family> families;
  std::int64_t last = 0;
  for (auto const& [setting, step, plan] : found.ranked) {
    CHECK_NOTHROW(require_valid(setting, dense));
    CHECK(setting.gpus() == 8);
    CHECK(setting.global_batch() == 20);
    CHECK(setting.model.spread.sequence_parallel == (setting.model.spread.tensor > 1));
    CHECK(setting.boundaries == plan.stages.partition.boundaries);
    REQUIRE(plan.status == status::feasible);
    for (auto const& m : plan.memory) CHECK(m.bytes() <= 6'000'000'000);
    CHECK(step >= found.step.value);
    CHECK(plan.time.value >= last);
    CHECK(plan.shares.total() == plan.time.value * setting.ranks() * static_cast<std::int64_t>(setting.pipeline.stages));
    last = plan.time.value;
    families.push_back(family_of(setting));
  }
  std::sort(families.begin(), families.end());
  CHECK(std::adjacent_find(families.begin(), families.end()) == families.end());
}

TEST_CASE("search_degrees: a step has as many packs as asked, and settings are compared per pack where none has") {
  splitmix64 draw(17);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 300; ++i) lengths.push_back(1 + static_cast<std::int64_t>(uniform_below(4096, draw)));
  for (std::int64_t const batch : {5, 9, 13, 17, 24}) {
    search_options o{.gpus = 4, .memory = 60'000'000'000, .sequence = 4096, .global_batch = batch, .keep = 50, .packs = 50};
    CAPTURE(batch);
    for (auto const with_data : {false, true}) {
      auto const found = with_data ? search_degrees(lengths, dense, o, two_nodes, adam) : search_degrees(dense, packs, o, two_nodes, adam);
      REQUIRE(found.status == status::feasible);
      CHECK_FALSE(found.per_pack);
      CHECK(found.indivisible > 0);
      for (auto const& r : found.ranked) CHECK(r.setting.global_batch() == batch);
    }
    if (batch == 24) continue;
    o.tensor = {1};
    o.stages = {1};
    o.context = {1};  // four ranks
    o.keep = 1;
    auto const none = search_degrees(dense, packs, o, two_nodes, adam);
    REQUIRE(none.status == status::feasible);
    CHECK(none.per_pack);
    CHECK(none.indivisible == none.settings);
    auto const& best = none.ranked[0];
    CHECK(best.setting.global_batch() > batch);
    CHECK(none.step == certificate{best.step, best.step});
    for (std::int64_t const size : {1, 2, 4}) {  // each alone: none is less for a pack
      o.micro_batch = {size};
      auto const one = search_degrees(dense, packs, o, two_nodes, adam);
      CHECK((one.ranked.empty() || one.ranked[0].step >= best.step));
      o.global_batch = one.ranked.empty() ? batch : one.ranked[0].setting.global_batch();
      if (!one.ranked.empty()) {
        auto const whole = search_degrees(dense, packs, o, two_nodes, adam).ranked[0].step;
        CHECK(one.ranked[0].step == divide_up(whole * batch, o.global_batch));
      }
      o.global_batch = batch;
    }
  }
}

TEST_CASE("search_degrees: the best setting found is no slower with more memory, and none fits in too little") {
  search_options o{
      .gpus = 8, .memory = 300'000'000, .sequence = 4096, .global_batch = 16, .schedules = {one_f_one_b_schedule{}}, .keep = 1};
  std::int64_t before = 0;
  int unfit = 0, changed = 0;
  for (; o.memory < 12'000'000'000; o.memory += o.memory / 8) {
    auto const found = detail::degree_search<transformer>(dense, packs, o, two_nodes, adam).run();
    if (found.status != status::feasible) {
      CHECK(before == 0);
      CHECK(found.ranked.empty());
      CHECK(found.unfit == found.settings);
      ++unfit;
      continue;
    }
    if (before != 0) CHECK(found.step.value <= before);
    changed += found.step.value != before ? 1 : 0;
    before = found.step.value;
  }
  CHECK(unfit > 0);
  CHECK(changed > 2);
}

TEST_CASE("pack_sizes_of: the mean pack holds its share of all tokens and squares") {
  std::vector<int> const lengths{100, 200, 300, 400};
  CHECK(pack_sizes_of(lengths, 1000) == pack_sizes{{1000, 300'000, 0}, {1000, 400'000, 0}});
  CHECK(pack_sizes_of(lengths, 500) == pack_sizes{{500, 150'000, 0}, {500, 200'000, 0}});
  CHECK(pack_sizes_of(lengths, 400) == pack_sizes{{334, 100'000, 0}, {400, 160'000, 0}});
  CHECK(pack_sizes_of(lengths, 1000, 2) == pack_sizes{{500, 150'000, 0}, {1000, 400'000, 0}});
  CHECK(pack_sizes_of(lengths, 500, 4) == pack_sizes_of(lengths, 500));
  CHECK(pack_sizes_of(std::vector<int>{}, 400) == pack_sizes{{}, {400, 0, 0}});
  CHECK(refusal([&] { return pack_sizes_of(lengths, 399); }) == "lengths[3] = 400 must be in [0, 399], which is what a pack holds");
}

TEST_CASE("search_degrees: tiles and tokens of a vision-language model") {
  auto model = vision_language_preset("internvl-chat-1.5");
  model.vision.body.layers = 6;
  model.language.layers = 6;
  splitmix64 draw(11);
  std::vector<std::int64_t> tiles, tokens;
  for (int i = 0; i < 400; ++i) {
    tiles.push_back(1 + static_cast<std::int64_t>(uniform_below(5, draw)));
    tokens.push_back(256 * tiles.back() + 20 + static_cast<std::int64_t>(uniform_below(600, draw)));
  }
  search_options o{.gpus = 8, .memory = 60'000'000'000, .sequence = 4096, .global_batch = 16, .tiles = 9};
  sample_measures const samples{tiles, tokens};
  auto const sizes = pack_sizes_of(samples, 9, 4096);
  CHECK(sizes.largest.tiles == 9);
  CHECK(sizes.mean.tiles <= 9);
  CHECK(sizes.mean.tokens <= 4096);
  auto const found = search_degrees(samples, model, o, two_nodes, adam);
  REQUIRE(found.status == status::feasible);
  auto few = o;
  few.max_samples = 1;
  CHECK(search_degrees(samples, model, few, two_nodes, adam).step.value < found.step.value);
  auto bare = adam;
  bare.vision = bare.projector = {.what = trained::none};
  auto const frozen = search_degrees(samples, model, o, two_nodes, bare);
  REQUIRE(frozen.status == status::feasible);
  CHECK(frozen.step.value < found.step.value);
  for (auto const& r : found.ranked) {
    CHECK(r.plan.largest.tiles == 9 * r.setting.micro_batch);
    for (auto const& m : r.plan.memory) CHECK(m.bytes() <= o.memory);
  }
  bare.framework = framework_named("eager");  // whose tensors are counted: pixels are on every device beside the stages
  auto const counted = search_degrees(samples, model, o, two_nodes, bare);
  REQUIRE(counted.status == status::feasible);
  for (auto const& r : counted.ranked)
    for (auto const& m : r.plan.memory) CHECK(m.budget == memory_for_stages(o.memory, model, r.setting.model, r.plan.largest));
  o.tiles = 4;
  CHECK(refusal([&] { return search_degrees(samples, model, o, two_nodes, adam); }).starts_with("tiles["));
}

TEST_CASE("search_degrees: no published setting is faster, under the same model", "[published]") {
  for (auto const& p : ballast_test::published_settings) {
    if (p.gpus > (ballast_test::sanitized ? 8 : 64)) continue;  // bench_degrees has all
    CAPTURE(p.source, p.model, p.gpus);
    auto const found = ballast_test::search_beside(p);
    REQUIRE(found.published.settings == 1);
    REQUIRE(found.published.status == status::feasible);
    CHECK(found.best.step.value <= found.published.step.value);
  }
}

TEST_CASE("search_degrees: with Ulysses, context parallelism divides the heads of all parts") {
  auto ulysses = adam;
  ulysses.method = context_method::ulysses;
  search_options const o{.gpus = 16, .memory = 60'000'000'000, .sequence = 4096, .global_batch = 16, .keep = 50};
  auto const found = search_degrees(dense, packs, o, two_nodes, ulysses);
  REQUIRE(found.status == status::feasible);
  for (auto const& r : found.ranked) CHECK(8 / r.setting.model.spread.tensor % r.setting.model.spread.context == 0);
  CHECK(found.settings < search_degrees(dense, packs, o, two_nodes, adam).settings);
  auto model = vision_language_preset("internvl-chat-1.5");  // 25 heads in the tower, 48 behind
  model.vision.body.layers = 2;
  model.language.layers = 2;
  auto with_tiles = packs;
  with_tiles.mean.tiles = with_tiles.largest.tiles = 9;
  auto const both = search_degrees(model, with_tiles, o, two_nodes, ulysses);
  REQUIRE(both.status == status::feasible);
  for (auto const& r : both.ranked) {
    auto const& [tensor, context, data, sequence, zero] = r.setting.model.spread;
    CHECK((25 + tensor - 1) / tensor % context == 0);
    CHECK(48 / tensor % context == 0);
  }
}

TEST_CASE("search_degrees: a ZeRO stage does not matter where a device shares states with no other") {
  search_options o{.gpus = 4, .memory = 60'000'000'000, .sequence = 4096, .global_batch = 8, .stages = {4}};
  auto const any = search_degrees(dense, packs, o, two_nodes, adam);
  o.zero = {2};
  auto const two = search_degrees(dense, packs, o, two_nodes, adam);
  REQUIRE(two.status == status::feasible);
  CHECK(two.settings == any.settings);
  CHECK(two.step == any.step);
}

TEST_CASE("search_degrees: a stop returns the best so far with a bound for all, and progress counts the space") {
  search_options o{.gpus = 8, .memory = 5'400'000'000, .sequence = 4096, .global_batch = 32};
  auto const whole = search_degrees(dense, packs, o, two_nodes, adam);
  CHECK(whole.complete);
  auto optimal = false, bounded = false;
  for (std::uint64_t const at : {std::uint64_t{0}, whole.settings / 8, whole.settings / 2}) {
    auto const source = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
    ballast_test::progress_log told;
    auto const stop_later = [&](std::uint64_t done, std::uint64_t most) {
      told(done, most);
      if (done >= at) source->request_stop();
    };
    o.stop = source->get_token();
    o.progress = stop_later;
    auto const cut = search_degrees(dense, packs, o, two_nodes, adam);
    CAPTURE(at);
    CHECK_FALSE(cut.complete);
    CHECK((told.sound && told.most == whole.settings && told.last >= at));
    CHECK(cut.excluded + cut.unfit + cut.planned < whole.settings);
    CHECK(cut.status == (cut.ranked.empty() ? status::unknown : status::feasible));
    if (cut.ranked.empty()) continue;
    CHECK(cut.step.value >= whole.step.value);
    CHECK(cut.step.lower_bound <= whole.step.value);
    optimal = optimal || cut.step.value == whole.step.value;
    bounded = bounded || cut.step.lower_bound > 0;
  }
  CHECK((optimal && bounded));
}

TEST_CASE("search_degrees: what is out of range is refused by name") {
  search_options const good{.gpus = 4, .memory = 60'000'000'000, .sequence = 4096, .global_batch = 8};
  auto const refused = [&](auto const& change) {
    auto bad = good;
    change(bad);
    return refusal([&] { return search_degrees(dense, packs, bad, two_nodes, adam); });
  };
  CHECK(refused([](auto& o) { o.gpus = 0; }) == "gpus = 0 must be at least 1");
  CHECK(refused([](auto& o) { o.gpus = (1 << 20) + 1; }).starts_with("gpus = 1048577 "));
  CHECK(refused([](auto& o) { o.memory = 0; }).starts_with("memory = 0 "));
  CHECK(refused([](auto& o) { o.sequence = -1; }).starts_with("sequence = -1 "));
  CHECK(refused([](auto& o) { o.global_batch = 0; }).starts_with("global_batch = 0 "));
  CHECK(refused([](auto& o) { o.global_batch = (1 << 20) + 1; }).starts_with("global_batch = 1048577 "));
  CHECK(refused([](auto& o) { o.keep = 0; }).starts_with("keep = 0 "));
  CHECK(refused([](auto& o) { o.zero = {}; }).starts_with("zero and schedules "));
}

TEST_CASE("search_degrees: degrees that a setting has for one spread do not stop the search over others") {
  auto const model = ballast::transformer_preset("qwen3-30b-a3b");
  ballast::model_setting by{.spread = {.tensor = 4, .data = 8, .sequence_parallel = true, .zero = 1},
                            .expert = 4,
                            .expert_tensor = 2,
                            .framework = ballast::framework_named("megatron"),
                            .kernels = {.instances = 4}};
  by.kernels.moved = {ballast::offload_module::moe_act};
  ballast::batch_shape const pack{.tokens = 4096, .squares = 4096 * 4096, .tiles = 0};
  auto const found = ballast::search_degrees(model, {.mean = pack, .largest = pack},
                                             {.gpus = 32, .memory = std::int64_t{200} << 30, .sequence = 4096, .global_batch = 32}, {}, by);
  REQUIRE(!found.ranked.empty());
  for (auto const& r : found.ranked) {
    ballast::require_valid(r.setting, model);
    CHECK(ballast::largest_of(ballast::memory_of(model, r.setting)).peak() > 0);
  }
}

}  // namespace test_plan_search_degrees
