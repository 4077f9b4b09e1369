// SPDX-License-Identifier: Apache-2.0
// Rows of experts are counted and clipped as on the host. Costs of samples and packs are the host's integers, for every model of cost/ that
// device code can call, whatever the packs' sizes.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/table.hpp>
#include <ballast/cost/tiles.hpp>
#include <ballast/gpu/cost/makespan.cuh>
#include <ballast/gpu/cost/pack_costs.cuh>
#include <ballast/gpu/cost/routed_rows.cuh>
#include <ballast/gpu/cost/sample_costs.cuh>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace gpu = ballast::gpu;
using ballast_test::part;

namespace {

using lengths_type = std::vector<std::int64_t>;

/// Offsets of packs over `count` samples: of none, of few and of thousands, so that packs end inside, at and far beyond a lane's stretch.
std::vector<std::uint64_t> cut(std::size_t count, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::vector<std::uint64_t> offsets{0};
  while (offsets.back() < count) {
    auto const shape = draw() % 8;
    auto const size = shape == 0 ? 0 : shape == 1 ? ballast::uniform_below(3000, draw) : ballast::uniform_below(12, draw);
    offsets.push_back((std::min)(std::uint64_t{count}, offsets.back() + size));
  }
  offsets.push_back(count);
  return offsets;
}

template <class On, class Len, class Cost>
void test_samples(On on, std::string const& name, std::vector<Len> const& lengths, std::int64_t longest, Cost const& on_device,
                  Cost const& cost) {
  auto const in = gpu::send(on, lengths);
  gpu::array<std::int64_t, On> const out(on, lengths.size());
  gpu::sample_costs(on, in.data(), lengths.size(), longest, on_device, out.data());
  lengths_type wanted;
  for (auto const l : lengths) wanted.push_back(cost(static_cast<std::int64_t>(l)));
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, name + " of " + std::to_string(lengths.size()));
  if (lengths.empty()) return;  // arrays that are not aligned to four elements
  gpu::sample_costs(on, in.data() + 1, lengths.size() - 1, longest, on_device, out.data() + 1);
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, name + " behind the first");
}

template <class On, class Cost>
void test_cost(On on, char const* name, Cost const& cost, Cost const& on_device) {
  for (std::size_t const count : {1U, 31U, 32U, 33U, 128U, 129U, 1000U}) {
    lengths_type lengths(count);  // edges of tiles, and a bit of everything
    for (std::size_t i = 0; i < count; ++i) lengths[i] = i % 7 == 0 ? std::int64_t{1} << (i % 30) : static_cast<std::int64_t>(i);
    test_samples(on, name, lengths, std::int64_t{1} << 29, on_device, cost);
  }
  for (std::size_t const count : {499U, 500U, 2000U}) {  // below 500 samples, costs of lengths up to 499 are not tabulated
    lengths_type lengths(count);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = static_cast<std::int64_t>((7 * i + 499) % 500);
    test_samples(on, name, lengths, 499, on_device, cost);
  }
}
template <class On, class Cost>
void test_cost(On on, char const* name, Cost const& cost) {
  test_cost(on, name, cost, cost);
}

template <class On>
void test_every_cost(On on) {
  test_cost(on, "token_cost", ballast::token_cost{});
  test_cost(on, "linear_cost", ballast::linear_cost{.per_token = 12'345'678'901, .per_sample = 77});
  test_cost(on, "quadratic_cost", ballast::quadratic_cost{.linear = 6 * 4096, .quadratic = 3});
  test_cost(on, "full_pairs", ballast::full_pairs{});
  test_cost(on, "causal_pairs", ballast::causal_pairs{});
  test_cost(on, "prefix_pairs", ballast::prefix_pairs{.prefix = 100});
  test_cost(on, "window_pairs", ballast::window_pairs{.window = 64, .sinks = 4});
  test_cost(on, "chunked_pairs", ballast::chunked_pairs{.chunk = 96});
  test_cost(on, "chunked_pairs, not causal", ballast::chunked_pairs{.chunk = 96, .causal = false});
  test_cost(on, "shared_question_pairs", ballast::shared_question_pairs{.question = 77, .answers = 8});
  test_cost(on, "zigzag_pairs", ballast::zigzag_pairs{.ranks = 3});
  test_cost(on, "masked_cost", ballast::masked_cost<ballast::window_pairs>{.per_token = 5, .per_pair = 512, .mask = {.window = 4096}});
  test_cost(on, "attention_tiles", ballast::attention_tiles{.rows = 80, .columns = 176, .window = 512});
  test_cost(on, "tile_cost", ballast::tile_cost{.heads = 32});
  test_cost(on, "transformer_cost", ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b")));
  test_cost(on, "windowed transformer_cost",
            ballast::transformer_cost{.per_token = 9, .per_pair = 2, .per_windowed_pair = 3, .window = 700});
  test_cost(on, "windowed transformer_cost, not causal",
            ballast::transformer_cost{.per_token = 9, .per_pair = 2, .per_windowed_pair = 3, .window = 700, .causal = false});
  test_cost(on, "chunked transformer_cost",
            ballast::transformer_cost{.per_token = 9, .per_pair = 2, .per_windowed_pair = 3, .window = 700, .chunked = true});
  ballast::cost_table const table({64, 256, 1024, 65536}, {28, 37, 133, 206287});
  auto const lengths = gpu::send(on, lengths_type{64, 256, 1024, 65536});
  auto const costs = gpu::send(on, lengths_type{28, 37, 133, 206287});
  test_cost(on, "table_cost", table.view(), ballast::table_cost{lengths.data(), costs.data(), 4});
}

template <class On, class Cost>
void test_packs(On on, lengths_type const& lengths, bool shuffled, Cost const& cost, std::int64_t longest) {
  auto const count = lengths.size();
  auto const offsets = cut(count, count);
  auto const packs = offsets.size() - 1;
  auto members = ballast::random_permutation(count, 5);
  if (!shuffled) std::iota(members.begin(), members.end(), 0U);
  auto const lengths_in = gpu::send(on, std::vector<std::int32_t>(lengths.begin(), lengths.end()));
  auto const members_in = gpu::send(on, members);
  auto const offsets_in = gpu::send(on, offsets);
  gpu::packed_lengths<std::int32_t> const in{.lengths = lengths_in.data(),
                                             .samples = count,
                                             .members = shuffled ? members_in.data() : nullptr,
                                             .placed = count,
                                             .offsets = offsets_in.data(),
                                             .packs = packs};
  gpu::array<std::int64_t, On> const costs(on, packs);
  gpu::array<ballast::tile_work, On> const work(on, packs);
  ballast::tile_cost const tiles{.tiles = {.columns = 96, .window = 700}, .heads = 8};
  lengths_type wanted(packs);
  std::vector<ballast::tile_work> wanted_work(packs);
  for (std::size_t p = 0; p < packs; ++p) {
    lengths_type mine;
    for (auto i = offsets[p]; i < offsets[p + 1]; ++i) mine.push_back(lengths[members[i]]);
    for (auto const l : mine) wanted[p] += cost(l);
    if (count <= 100'000) wanted_work[p] = ballast::tile_work_of(mine, tiles);
  }
  for (int run = 0; run < 2; ++run) {  // what the first one left does not matter
    gpu::pack_costs(on, in, longest, cost, costs.data());
    ballast_test::expect_equal(gpu::fetch(on, costs), wanted, "costs of packs of " + std::to_string(count));
    if (count > 100'000) continue;
    gpu::pack_tile_work(on, in, longest, tiles, work.data());
    ballast_test::expect(gpu::fetch(on, work) == wanted_work, "work tiles of packs of " + std::to_string(count));
  }
}

template <class On>
void test_bad_data(On on) {
  lengths_type lengths(1000, 5);
  lengths[40] = 9;
  lengths[700] = -2;
  auto const in = gpu::send(on, lengths);
  auto const members = gpu::send(on, std::vector<std::uint32_t>{3, 700, 1000, 2, 40});
  auto const offsets = gpu::send(on, std::vector<std::uint64_t>{0, 2, 3, 5});
  gpu::array<std::int64_t, On> const out(on, 1000);
  gpu::array<std::uint64_t, On> const bad(on, 1);
  ballast::quadratic_cost const square{.linear = 0, .quadratic = 1};
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();

  ballast_test::expect_refusal("lengths[40] = 9 is not in 0 ... 8", [&] { gpu::sample_costs(on, in.data(), 1000, 8, square, out.data()); });
  ballast_test::expect_refusal("lengths[700] = -2 is not in 0 ... 9",
                               [&] { gpu::sample_costs(on, in.data(), 1000, 9, square, out.data()); });
  gpu::sample_costs(on, in.data(), 700, 9, square, out.data());
  ballast_test::expect_refusal("longest = 9223372036854775807 has a cost that is negative, not a number or too large for 63 bits",
                               [&] { gpu::sample_costs(on, in.data(), 700, most, square, out.data()); });
  ballast::masked_cost<ballast::window_pairs> const windows{.per_token = most / 9, .per_pair = 0};  // tabulated
  ballast_test::expect_refusal("lengths[40] = 9 is not in 0 ... 8",
                               [&] { gpu::sample_costs(on, in.data(), 1000, 8, windows, out.data()); });
  ballast_test::expect_refusal("longest = 10 has a cost that is negative, not a number or too large for 63 bits",
                               [&] { gpu::sample_costs(on, in.data(), 1000, 10, windows, out.data()); });

  gpu::packed_lengths<std::int64_t> packs{in.data(), 1000, members.data(), 5, offsets.data(), 3};
  ballast_test::expect_refusal("lengths[700] = -2 is not in 0 ... 9", [&] { gpu::pack_costs(on, packs, 9, square, out.data()); });
  packs.members += 2;
  packs.placed = 3;
  ballast_test::expect_refusal("members[0] = 1000 is no sample", [&] { gpu::pack_costs(on, packs, 9, square, out.data()); });
  ballast::linear_cost const dear{.per_token = most / 9};
  packs.members += 1;
  packs.placed = 2;
  ballast_test::expect_refusal("lengths[40] = 9 brings the sum of costs to 2^63 or more",
                               [&] { gpu::pack_costs(on, packs, 9, dear, out.data()); });
  ballast_test::expect_refusal("longest = 10 has a cost that is negative, not a number or too large for 63 bits",
                               [&] { gpu::pack_costs(on, packs, 10, dear, out.data()); });
  packs.offsets += 2;  // from 3: no pack covers these members
  packs.packs = 1;
  gpu::pack_costs(on, packs, 9, dear, out.data());
  ballast_test::expect(gpu::fetch(on, out)[0] == 0, "an empty pack");
  for (auto const& covered : {std::vector<std::uint64_t>{0, 1}, {3, 5}, {4, 5}}) {  // members that no pack covers may be bad
    auto const of_pack = gpu::send(on, covered);
    auto const first = gpu::send(on, std::vector<std::uint32_t>{3, 700, 1000, 2, 41});
    gpu::pack_costs(on, gpu::packed_lengths<std::int64_t>{in.data(), 1000, first.data(), 5, of_pack.data(), 1}, 9, ballast::token_cost{},
                    out.data());
    ballast_test::expect(gpu::fetch(on, out)[0] == 5 * static_cast<std::int64_t>(covered[1] - covered[0]), "the pack beside bad members");
  }

  std::size_t bytes = 0;
  gpu::check(gpu::pack_costs(on, nullptr, bytes, packs, 9, dear, out.data(), bad.data()), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  ballast_test::expect(gpu::pack_costs(on, temp.data(), bytes, packs, -1, dear, out.data(), bad.data()) == On::invalid_value,
                       "longest < 0");
  --bytes;
  ballast_test::expect(gpu::pack_costs(on, temp.data(), bytes, packs, 9, dear, out.data(), bad.data()) == On::invalid_value,
                       "a byte too few");
}

template <class On>
void test_routed_rows(On on) {
  ballast::splitmix64 draw(6);
  for (std::size_t const count : {0U, 1U, 31U, 32U, 33U, 1000U, 100'000U})
    for (std::uint32_t const experts : {1U, 2U, 60U, 256U}) {
      std::vector<std::uint32_t> rows(count);
      for (auto& e : rows) {
        auto const a = ballast::uniform_below(experts, draw), b = ballast::uniform_below(experts, draw);
        e = static_cast<std::uint32_t>((std::min)(a, b));
      }
      auto const offsets = cut(count, count + experts);
      auto const segments = offsets.size() - 1;
      auto const capacity = static_cast<std::uint32_t>(count / experts);
      auto const rows_in = gpu::send(on, rows);
      auto const offsets_in = gpu::send(on, offsets);
      auto const loads = gpu::segment_loads(on, rows_in.data(), count, offsets_in.data(), segments, experts);
      auto const name = std::to_string(count) + " rows of " + std::to_string(experts) + " experts";
      ballast_test::expect_equal(gpu::fetch(on, loads), ballast::segment_loads(rows, offsets, experts), "segments of " + name);
      gpu::array<std::int64_t, On> const sums(on, experts);
      gpu::array<std::uint32_t, On> const slots(on, count);
      gpu::clip_rows(on, rows_in.data(), count, experts, capacity, sums.data(), slots.data());
      auto const wanted = ballast::clip_rows(rows, experts, capacity);
      ballast_test::expect_equal(gpu::fetch(on, sums), wanted.loads, "loads of " + name);
      ballast_test::expect_equal(gpu::fetch(on, slots), wanted.slot_of, "slots of " + name);
    }
  // more counters than a block has, in one segment and in many; and keys of more than 16 bits
  for (std::uint32_t const experts : {8191U, 8192U, 8193U, 65'536U, 65'537U}) {
    std::vector<std::uint32_t> rows(9000);
    for (auto& e : rows) e = static_cast<std::uint32_t>(draw() % 4 == 0 ? experts - 1 : draw() % experts);
    std::vector<std::uint64_t> const offsets{0, 0, 1, 4095, 4096, 4097, 4097, 9000};
    auto const rows_in = gpu::send(on, rows);
    auto const offsets_in = gpu::send(on, offsets);
    auto const loads = gpu::segment_loads(on, rows_in.data(), rows.size(), offsets_in.data(), offsets.size() - 1, experts);
    auto const name = std::to_string(experts) + " experts";
    ballast_test::expect_equal(gpu::fetch(on, loads), ballast::segment_loads(rows, offsets, experts), "segments of " + name);
    gpu::array<std::int64_t, On> const sums(on, experts);
    gpu::array<std::uint32_t, On> const slots(on, rows.size());
    gpu::clip_rows(on, rows_in.data(), rows.size(), experts, 1000, sums.data(), slots.data());
    auto const wanted = ballast::clip_rows(rows, experts, 1000);
    ballast_test::expect_equal(gpu::fetch(on, sums), wanted.loads, "loads of " + name);
    ballast_test::expect_equal(gpu::fetch(on, slots), wanted.slot_of, "slots of " + name);
  }
  auto const rows = gpu::send(on, std::vector<std::uint32_t>{0, 3, 1, 4});
  auto const offsets = gpu::send(on, std::vector<std::uint64_t>{0, 4});
  auto const early = gpu::send(on, std::vector<std::uint64_t>{0, 2});
  gpu::array<std::int64_t, On> const loads(on, 8);
  gpu::array<std::uint32_t, On> const slots(on, 4);
  ballast_test::expect_refusal("expert_of[1] = 3 must be below 3",
                               [&] { static_cast<void>(gpu::segment_loads(on, rows.data(), 4, offsets.data(), 1, 3)); });
  ballast_test::expect_refusal("offsets must rise from 0 to the number of rows, 4",
                               [&] { static_cast<void>(gpu::segment_loads(on, rows.data(), 4, early.data(), 1, 5)); });
  ballast_test::expect_refusal("expert_of[3] = 4 must be below 4",
                               [&] { gpu::clip_rows(on, rows.data(), 4, 4, 1, loads.data(), slots.data()); });
  gpu::array<std::uint64_t, On> const bad(on, 1);
  for (auto const& [of_segments, first_bad] : {std::pair(std::vector<std::uint64_t>{1, 2, 4}, std::uint64_t{0}), {{0, 1, 3}, 3}}) {
    auto const there = gpu::send(on, of_segments);
    gpu::array<std::int64_t, On> const counted(on, 10);
    call(on, "segment_loads", [&](void* temp, std::size_t& size) {
      return gpu::segment_loads(on, temp, size, rows.data(), 4, there.data(), 2, 5, counted.data(), bad.data());
    });
    ballast_test::expect(gpu::fetch_one(on, bad.data()) == first_bad, "the first row without a segment");
    lengths_type wanted(10);
    for (std::size_t s = 0; s < 2; ++s)
      for (auto i = of_segments[s]; i < of_segments[s + 1]; ++i) ++wanted[5 * s + std::vector<std::size_t>{0, 3, 1, 4}[i]];
    ballast_test::expect_equal(gpu::fetch(on, counted), wanted, "the other rows");
  }
  std::size_t bytes = 0;
  gpu::check(gpu::clip_rows(on, nullptr, bytes, rows.data(), 4, 5, 1, loads.data(), slots.data(), bad.data()), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  --bytes;
  ballast_test::expect(
      gpu::clip_rows(on, temp.data(), bytes, rows.data(), 4, 5, 1, loads.data(), slots.data(), bad.data()) == On::invalid_value,
      "a byte too few");
}

// What twins and hosts say of random rows, many of which are bad.
template <class On>
void test_rows_as_host(On on) {
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto const at = " in round " + std::to_string(round);
    auto const experts = ballast_test::one_of(draw, {1U, 3U, 3U, 3U, 0U});
    std::vector<std::uint32_t> rows(draw() % 12);
    for (auto& e : rows) e = static_cast<std::uint32_t>(draw() % (draw() % 20 == 0 ? 5 : experts == 0 ? 1 : experts));
    std::vector<std::uint64_t> offsets{draw() % 20 == 0 ? 1U : 0U};
    for (auto n = draw() % 3; n > 0; --n) offsets.push_back(draw() % (rows.size() + 1));
    if (draw() % 8 != 0) std::sort(offsets.begin(), offsets.end());
    offsets.push_back(rows.size());
    if (draw() % 8 == 0) offsets.back() = draw() % (rows.size() + 2);
    auto const rows_in = gpu::send(on, rows);
    auto const offsets_in = gpu::send(on, offsets);
    gpu::array<std::int64_t, On> const loads(on, 3);
    gpu::array<std::uint32_t, On> const slots(on, rows.size());
    refused += ballast_test::expect_as_host(
        [&] { return gpu::segment_loads(on, rows_in.data(), rows.size(), offsets_in.data(), offsets.size() - 1, experts); },
        [&] { return ballast::segment_loads(rows, offsets, experts); }, "segment_loads" + at);
    refused += ballast_test::expect_as_host(
        [&] { return gpu::clip_rows(on, rows_in.data(), rows.size(), experts, 2, loads.data(), slots.data()), 0; },
        [&] { return ballast::clip_rows(rows, experts, 2); }, "clip_rows" + at);
  }
  ballast_test::expect(refused > 100 && refused < 300, std::to_string(refused) + " of 400 refused");
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t capacity = 8192;
  constexpr ballast::masked_cost<> cost{.per_token = 24576, .per_pair = 2};
  return ballast_test::run_everywhere(
      argc, argv, part{"every_cost", [](auto on) { test_every_cost(on); }},
      part{"packs",
           [&](auto on) {
             for (int d = 0; d < ballast_test::distributions; ++d)
               for (std::size_t const count : {0U, 1U, 31U, 32U, 33U, 1000U, 100'000U}) {
                 auto const lengths = ballast_test::lengths_of(d, count, capacity);
                 std::vector<std::uint16_t> const small(lengths.begin(), lengths.end());
                 if (count <= 1000) test_samples(on, "16-bit lengths", small, capacity, cost, cost);
                 test_packs(on, lengths, d % 2 == 0, cost, capacity);
               }
             test_packs(on, ballast_test::lengths_of(0, 1'000'000, capacity), false, ballast::token_cost{}, capacity);
             for (bool const shuffled : {false, true})
               test_packs(on, ballast_test::lengths_of(1, 20'000, capacity), shuffled, ballast::tile_cost{.heads = 32}, capacity);
           }},
      part{"bad_data", [](auto on) { test_bad_data(on); }}, part{"routed_rows", [](auto on) {
                                                                   test_routed_rows(on);
                                                                   test_rows_as_host(on);
                                                                 }});
}
