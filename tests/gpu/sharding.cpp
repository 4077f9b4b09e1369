// SPDX-License-Identifier: Apache-2.0
// Position ids and token indices of shards are those of the host: pass by pass, and for all passes of a rank at once.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/sharding/shard_layout.cuh>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/shard_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_equal;
using ballast_test::expect_refusal;
using ballast_test::one_of;
using ballast_test::part;

namespace {

// Shards of three passes, in which the ranks share half of the samples, and any rank has each of the others for itself.
template <class Index>
ballast::shards<Index> draw_shards(std::vector<std::int64_t> const& lengths, std::uint32_t ranks) {
  ballast::splitmix64 draw(ranks);
  std::vector<std::uint32_t> everyone(ranks);
  std::iota(everyone.begin(), everyone.end(), 0U);
  ballast::pass_list<Index> list;
  for (int pass = 0; pass < 3; ++pass) list.ranks.push_back(everyone);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    auto const shared = lengths[i] >= ranks && draw() % 2 == 0;
    list.placements.push_back({.sample = static_cast<Index>(i),
                               .pass = static_cast<std::uint32_t>(draw() % 3),
                               .rank = shared ? list.all_ranks : static_cast<std::uint32_t>(draw() % ranks)});
  }
  return ballast::make_shards(lengths, list, ranks);
}

// Shards of one rank and one pass.
template <class Index>
ballast::shards<Index> one_pass(std::vector<ballast::piece<Index>> pieces) {
  ballast::shards<Index> plan;
  plan.rank_offsets = {0, 1};
  plan.pass_offsets = {0, pieces.size()};
  plan.pieces = std::move(pieces);
  return plan;
}

// Both functions by the form with a workspace, as the trainer calls it who sends all pieces of a plan once.
template <class T, class Index, class On>
struct sent_plan {
  On on;
  gpu::array<ballast::piece<Index>, On> pieces;
  gpu::array<std::int64_t, On> starts;
  gpu::array<std::uint64_t, On> bad;

  sent_plan(On where, ballast::shards<Index> const& plan, std::vector<std::int64_t> const& of_samples)
      : on(where), pieces(send(where, plan.pieces)), starts(send(where, of_samples)), bad(where, 1) {}
  [[nodiscard]] std::vector<T> positions(std::size_t first, std::size_t count, std::size_t tokens) const {
    gpu::array<T, On> const out(on, tokens);
    call(on, "shard_position_ids", [&](void* temp, std::size_t& bytes) {
      return gpu::shard_position_ids(on, temp, bytes, pieces.data() + first, count, tokens, out.data(), bad.data());
    });
    return fetch(on, out);
  }
  [[nodiscard]] std::vector<T> indices(std::size_t first, std::size_t count, std::size_t tokens) const {
    gpu::array<T, On> const out(on, tokens);
    call(on, "shard_token_indices", [&](void* temp, std::size_t& bytes) {
      return gpu::shard_token_indices(on, temp, bytes, pieces.data() + first, count, starts.data(), starts.size(), tokens, out.data(),
                                      bad.data());
    });
    return fetch(on, out);
  }
  [[nodiscard]] std::uint64_t first_bad() const { return gpu::fetch_one(on, bad.data()); }
};

template <class T, class Index, class On>
void test_plan(On on, ballast::shards<Index> const& plan, std::vector<std::int64_t> const& starts, std::string const& at) {
  sent_plan<T, Index, On> const sent(on, plan, starts);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    std::vector<T> positions, indices;
    for (std::size_t pass = 0; pass < plan.passes(rank); ++pass) {
      auto const in_pass = " of rank " + std::to_string(rank) + ", pass " + std::to_string(pass) + at;
      auto const position = ballast::shard_position_ids<T>(plan, rank, pass),
                 index = ballast::shard_token_indices<T>(plan, rank, pass, starts);
      expect_equal(fetch(on, gpu::shard_position_ids<T>(on, plan, rank, pass)), position, "position ids" + in_pass);
      expect_equal(fetch(on, gpu::shard_token_indices<T>(on, plan, rank, pass, sent.starts.data(), starts.size())), index,
                   "token indices" + in_pass);
      expect_equal(fetch(on, gpu::shard_cu_seqlens<T>(on, plan, rank, pass)), ballast::shard_cu_seqlens<T>(plan, rank, pass),
                   "cu_seqlens" + in_pass);
      positions.insert(positions.end(), position.begin(), position.end());
      indices.insert(indices.end(), index.begin(), index.end());
    }
    auto const first = plan.pass_offsets[plan.rank_offsets[rank]], count = plan.pass_offsets[plan.rank_offsets[rank + 1]] - first;
    auto const in_rank = " of rank " + std::to_string(rank) + at;
    expect_equal(sent.positions(first, count, positions.size()), positions, "position ids" + in_rank);
    expect(sent.first_bad() == gpu::none_bad, "no bad piece" + in_rank);
    expect_equal(sent.indices(first, count, indices.size()), indices, "token indices" + in_rank);
    expect(sent.first_bad() == gpu::none_bad, "no bad piece" + in_rank);
  }
}

template <class Index, class On>
void test_lengths(On on, std::vector<std::int64_t> const& lengths, std::uint32_t ranks, std::string const& at) {
  std::vector<std::int64_t> starts(lengths.size());
  std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), std::int64_t{7});
  auto const plan = draw_shards<Index>(lengths, ranks);
  test_plan<std::int32_t>(on, plan, starts, at + " in 32 bits");
  for (auto& start : starts) start += std::int64_t{1} << 40;  // a file of terabytes
  test_plan<std::int64_t>(on, plan, starts, at + " in 64 bits");
}

template <class On>
void test_seams(On on) {
  using pieces = std::vector<ballast::piece<>>;
  std::vector<std::int64_t> const starts{100, 0, 9000};
  for (auto const& held : {pieces{}, pieces{{0, 0, 2048}}, pieces{{0, 0, 2047}, {1, 5, 6}, {2, 3, 2051}},
                           pieces{{0, 4096, 8192}, {1, 0, 1}}, pieces{{2, 7, 7}, {2, 7, 9}, {0, 3, 3}}})  // also pieces without tokens
    test_plan<std::int32_t>(on, one_pass(held), starts, " of " + std::to_string(held.size()) + " pieces");
}

template <class On>
void test_bad_data(On on) {
  auto const far = std::int64_t{1} << 40, most = (std::numeric_limits<std::int64_t>::max)();
  auto const plan = one_pass<std::uint32_t>({{0, 2, 5}, {1, 0, 4}, {2, 6, 8}});
  auto const long_sample = one_pass<std::uint32_t>({{0, 0, 3}, {1, far - 2, far}, {2, 0, far}});
  auto const starts = send(on, std::vector<std::int64_t>{0, 10, 20});
  auto const of = [&](auto offset, auto const& shards, std::vector<std::int64_t> const& values) {
    auto const sent = send(on, values);
    return gpu::shard_token_indices<decltype(offset)>(on, shards, 0, 0, sent.data(), values.size()).size();
  };
  std::int32_t const narrow{};
  std::int64_t const wide{};
  expect_refusal("rank = 1 must be below 1", [&] { return gpu::shard_position_ids(on, plan, 1, 0); });
  expect_refusal("pass = 2 must be below 1, the passes of rank 0",
                 [&] { return gpu::shard_token_indices(on, plan, 0, 2, starts.data(), 3); });
  expect_refusal("shard_position_ids: 1099511627776 does not fit in 32 bits",
                 [&] { return gpu::shard_position_ids(on, long_sample, 0, 0); });
  expect_refusal("shard_token_indices: 1099511627776 does not fit in 32 bits", [&] { return of(narrow, long_sample, {0, 0, 0}); });
  expect_refusal("starts has 2 entries, none for sample 2", [&] { return of(wide, plan, {0, 10}); });
  expect_refusal("starts[1] = -1 must not be negative, nor bring an index to 2^63", [&] { return of(wide, plan, {0, -1, -2}); });
  expect_refusal("starts[2] = " + std::to_string(most - 7) + " must not be negative, nor bring an index to 2^63",
                 [&] { return of(wide, plan, {0, 10, most - 7}); });
  expect_refusal("shard_token_indices: 2147483648 does not fit in 32 bits", [&] { return of(narrow, plan, {0, 10, 2147483640}); });
  expect(of(wide, plan, {0, 10, most - 8}) == 9 && of(narrow, plan, {0, 10, 2147483639}) == 9, "the largest indices");

  sent_plan<std::int32_t, std::uint32_t, On> const sent(on, plan, {0, -1, -1}), longer(on, long_sample, {0, far, 20});
  static_cast<void>(sent.indices(0, 3, 9));
  expect(sent.first_bad() == 1, "the first piece of a negative start");
  static_cast<void>(longer.positions(0, 2, 5));
  expect(longer.first_bad() == 1, "the first piece that is too long");
  for (std::size_t const tokens : {0U, 8U, 10U}) {
    static_cast<void>(sent.positions(0, 3, tokens));
    expect(sent.first_bad() == 3, "another number of tokens");
  }
  std::size_t bytes = 0;
  gpu::array<std::int32_t, On> const out(on, 9);
  auto const entries = [&](auto const& pieces, std::size_t samples) {
    call(on, "shard_cu_seqlens", [&](void* temp, std::size_t& need) {
      return gpu::shard_cu_seqlens(on, temp, need, pieces.data(), 3, samples, out.data(), sent.bad.data());
    });
    return sent.first_bad();
  };
  expect(entries(sent.pieces, 3) == gpu::none_bad && entries(longer.pieces, 3) == 2, "the first piece with too many tokens");
  expect(entries(sent.pieces, 2) == 3 && entries(sent.pieces, 4) == 3, "another number of samples");
  expect_refusal("shard_cu_seqlens: 1099511627781 does not fit in 32 bits", [&] { return gpu::shard_cu_seqlens(on, long_sample, 0, 0); });
  expect_refusal("shard_cu_seqlens: 9223372036854775808 does not fit in 64 bits",
                 [&] { return gpu::shard_cu_seqlens<std::int64_t>(on, one_pass<std::uint32_t>({{0, 0, most}, {1, 0, 1}}), 0, 0); });
  auto const twin = [&](void* temp) {
    return gpu::shard_position_ids(on, temp, bytes, sent.pieces.data(), 3, 9, out.data(), sent.bad.data());
  };
  gpu::check(twin(nullptr), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  --bytes;
  expect(twin(temp.data()) == On::invalid_value, "a workspace of a byte too few");
}

// What twins and hosts say of random pieces, many of which are bad.
template <class T, class On>
void test_as_host(On on) {
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<ballast::piece<>> pieces(draw() % 4);
    for (auto& p : pieces) {
      auto const begin =
          draw() % 10 == 0 ? one_of<std::int64_t>(draw, {(1LL << 31) - 3, 1LL << 40}) : static_cast<std::int64_t>(draw() % 20);
      p = {static_cast<std::uint32_t>(draw() % 4), begin, begin + static_cast<std::int64_t>(draw() % 5)};
    }
    std::vector<std::int64_t> starts(draw() % 10 == 0 ? 3 : 4);
    for (auto& s : starts)
      s = draw() % 15 == 0 ? one_of<std::int64_t>(draw, {-1, 1LL << 31, (std::numeric_limits<std::int64_t>::max)()}) : 100;
    auto const plan = one_pass(pieces);
    auto const sent = send(on, starts);
    auto const pass = draw() % 10 == 0 ? std::size_t{1} : std::size_t{0};
    auto const at = " in round " + std::to_string(round);
    refused += expect_as_host([&] { return gpu::shard_cu_seqlens<T>(on, plan, 0, pass); },
                              [&] { return ballast::shard_cu_seqlens<T>(plan, 0, pass); }, "cu_seqlens" + at);
    refused += expect_as_host([&] { return gpu::shard_position_ids<T>(on, plan, 0, pass); },
                              [&] { return ballast::shard_position_ids<T>(plan, 0, pass); }, "position ids" + at);
    refused += expect_as_host([&] { return gpu::shard_token_indices<T>(on, plan, 0, pass, sent.data(), starts.size()); },
                              [&] { return ballast::shard_token_indices<T>(plan, 0, pass, starts); }, "token indices" + at);
  }
  expect(refused > 40 && refused < 500, std::to_string(refused) + " of 600 refused");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv,
                                      part{"passes",
                                           [](auto on) {
                                             for (int shape = 0; shape < ballast_test::distributions; ++shape)
                                               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 300U}) {
                                                 auto const lengths = ballast_test::lengths_of(shape, n, 3000);
                                                 auto const at =
                                                     ", " + std::to_string(n) + " samples in distribution " + std::to_string(shape);
                                                 for (std::uint32_t const ranks : {1U, 3U})
                                                   test_lengths<std::uint32_t>(on, lengths, ranks, at);
                                                 test_lengths<std::uint64_t>(on, lengths, 2, at);
                                               }
                                             test_seams(on);
                                           }},
                                      part{"bad_data", [](auto on) {
                                             test_bad_data(on);
                                             test_as_host<std::int32_t>(on);
                                             test_as_host<std::int64_t>(on);
                                           }});
}
