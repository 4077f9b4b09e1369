// SPDX-License-Identifier: Apache-2.0
// Cumulative lengths from masks, lengths from offsets, and the cumulative lengths of context-parallel ranks are those of the host.
#include "support/backends.hpp"
#include "support/counted.hpp"
#include "support/distributions.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/layout/context_cu_seqlens.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/unpad_rows.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_equal;
using ballast_test::expect_same_refusal;
using ballast_test::one_of;
using ballast_test::part;

namespace {

// Rows of a mask whose padding is right, left, everywhere or nowhere.
template <class Mask, class T, class Index, class On>
void test_mask(On on, std::size_t rows, std::size_t width) {
  ballast::splitmix64 draw(rows * 31 + width);
  std::vector<Mask> mask(rows * width);
  for (std::size_t r = 0; r < rows; ++r) {
    auto const kind = draw() % 5;
    auto const tokens = draw() % (width + 1);
    for (std::size_t i = 0; i < width; ++i)
      mask[r * width + i] = static_cast<Mask>(kind == 0 ? i < tokens : kind == 1 ? i >= tokens : kind == 2 ? draw() % 2 == 0 : kind == 3);
  }
  auto const sent = send(on, mask);
  auto const wanted = ballast::unpad_rows<T, Index>(mask, width);
  auto const found = gpu::unpad_rows<T, Index>(on, sent.data(), rows, width);
  auto const at = " of " + std::to_string(rows) + " rows of " + std::to_string(width);
  expect_equal(fetch(on, found.indices), wanted.indices, "indices" + at);
  expect_equal(fetch(on, found.cu_seqlens), wanted.cu_seqlens, "cu_seqlens" + at);
  expect(found.longest == wanted.longest, "longest" + at);
  gpu::array<T, On> const cu(on, rows + 1), longest(on, 1);
  call(on, "unpad_rows", [&](void* temp, std::size_t& bytes) {
    return gpu::unpad_rows(on, temp, bytes, sent.data(), rows, width, static_cast<Index*>(nullptr), cu.data(), longest.data());
  });
  expect_equal(fetch(on, cu), wanted.cu_seqlens, "cu_seqlens alone" + at);
}

// Rows of a trainer's size take few nodes of a CUDA graph.
void test_nodes() {
  for (std::size_t const tokens : {8'192U, 32'768U, 131'072U}) {
    std::vector<std::int64_t> const mask(tokens, 1);
    std::vector<std::int64_t> indices(tokens);
    std::vector<std::int32_t> cu(9), lengths(8);
    std::uint64_t bad = 0;
    auto const at = " of " + std::to_string(tokens) + " tokens";
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::unpad_rows(on, temp, bytes, mask.data(), 8, tokens / 8, indices.data(), cu.data(), lengths.data());
           }) == 3,
           "unpad_rows" + at);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::sequence_lengths(on, temp, bytes, cu.data(), 8, lengths.data(), &bad);
           }) == 1,
           "sequence_lengths" + at);
    expect(bad == gpu::none_bad && lengths[7] == static_cast<std::int32_t>(tokens / 8), "lengths" + at);
  }
}

template <class On>
void test_bad_masks(On on) {
  auto const sent = send(on, std::vector<std::uint8_t>(4));
  expect_as_host([&] { return gpu::unpad_rows(on, sent.data(), 4, 0); },
                 [&] { return ballast::unpad_rows(std::vector<std::uint8_t>(4), 0); }, "a width of 0");
  auto const far = std::size_t{1} << 32;
  ballast_test::expect_refusal("unpad_rows: 4294967296 x 4294967296 tokens of width 1 are more than memory can hold",
                               [&] { (void)gpu::unpad_rows(on, sent.data(), far, far); });
  std::size_t bytes = 0;
  gpu::array<std::int32_t, On> const cu(on, 5);
  auto const twin = [&](std::size_t rows, std::size_t width) {
    return gpu::unpad_rows(on, nullptr, bytes, sent.data(), rows, width, cu.data(), cu.data(), cu.data());
  };
  expect(twin(4, 0) == On::invalid_value && twin(std::size_t{1} << 30, 2) == On::invalid_value, "masks that are too large");
  expect(twin(2, 2) != On::invalid_value, "a mask that is not");
}

// A plan's cumulative lengths: of whole rows, of ranks, as lengths again.
template <class T, class On>
void test_context(On on, int shape, std::size_t count, std::int64_t ranks) {
  auto const lengths = ballast_test::lengths_of(shape, count, 3000);
  auto const packs = ballast::best_fit_decreasing(lengths, {.capacity = 3000}).packs;
  auto const offsets = send(on, packs.offsets);
  auto const members = send(on, packs.members);
  auto const sent = send(on, lengths);
  auto const at = " of " + std::to_string(count) + " samples in distribution " + std::to_string(shape);
  for (auto const rank : {ballast::whole_row, std::int64_t{0}, ranks / 2, ranks - 1}) {
    auto const found = gpu::context_cu_seqlens<T>(on, offsets.data(), packs.size(), members.data(), packs.members.size(), sent.data(),
                                                  lengths.size(), {ranks}, rank);
    auto const wanted = ballast::context_cu_seqlens<T>(packs, lengths, {ranks}, rank);
    expect_equal(fetch(on, found.cu_seqlens), wanted.cu_seqlens, "cu_seqlens of rank " + std::to_string(rank) + at);
    expect_equal(fetch(on, found.cu_seqlens_padded), wanted.cu_seqlens_padded, "padded, of rank " + std::to_string(rank) + at);
  }
  std::vector<std::int64_t> starts{5};
  for (auto const l : lengths) starts.push_back(starts.back() + l);
  auto const sent_starts = send(on, starts);
  expect_equal(fetch(on, gpu::sequence_lengths<T>(on, sent_starts.data(), lengths.size())), lengths, "lengths" + at);
}

// What twins and hosts say of random input, much of which is bad.
template <class T, class On>
void test_as_host(On on) {
  ballast::splitmix64 draw(42);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto const at = " in round " + std::to_string(round);
    auto const odd = [&](std::uint64_t in) { return draw() % in == 0; };
    std::vector<std::int64_t> lengths(1 + draw() % 5), offsets{odd(3) ? one_of<std::int64_t>(draw, {7, ~(1LL << 62)}) : 0};
    for (auto& l : lengths) {
      l = odd(12) ? one_of<std::int64_t>(draw, {0, -5, 1LL << 30, 1LL << 62, ~(1LL << 62)}) : one_of<std::int64_t>(draw, {3, 4, 8});
      offsets.push_back(offsets.back() + (l > 0 && offsets.back() > (1LL << 61) ? 0 : l == ~(1LL << 62) ? -1 : l));
    }
    ballast::groups<> packs;
    for (auto p = 1 + draw() % 3; p > 0; --p) {
      std::vector<std::uint32_t> pack(draw() % 3);
      for (auto& m : pack) m = static_cast<std::uint32_t>(draw() % (lengths.size() + (odd(10) ? 2 : 0)));
      packs.push_back(pack);
    }
    ballast::zigzag const rule{one_of<std::int64_t>(draw, {1, 2, 4, 3, 0, 1LL << 31})};
    auto const rank = one_of<std::int64_t>(draw, {ballast::whole_row, 0, 1, -2});
    auto const sent_offsets = send(on, packs.offsets);
    auto const members = send(on, packs.members);
    auto const sent = send(on, lengths), starts = send(on, offsets);
    auto const all = packs.members.size();
    refused += expect_as_host(
        [&] {
          return gpu::context_cu_seqlens<T>(on, sent_offsets.data(), packs.size(), members.data(), all, sent.data(), lengths.size(), rule,
                                            rank);
        },
        [&] { return ballast::context_cu_seqlens<T>(packs, lengths, rule, rank); }, "context_cu_seqlens" + at);
    refused += expect_as_host([&] { return gpu::sequence_lengths<T>(on, starts.data(), lengths.size()); },
                              [&] { return ballast::sequence_lengths<T>(offsets); }, "sequence_lengths" + at);
  }
  expect(refused > 80 && refused < 350, std::to_string(refused) + " of 400 refused");
  // a row with more tokens than fit, of samples that do; offsets that fall by more than half of all numbers
  ballast::groups<> const packs{{0, 1, 4}, {2, 0, 1, 2}};
  std::vector<std::int64_t> const lengths{std::int64_t{1} << (8 * sizeof(T) - 2), std::int64_t{1} << (8 * sizeof(T) - 2), 4};
  auto const offsets = send(on, packs.offsets);
  auto const members = send(on, packs.members);
  auto const sent = send(on, lengths);
  for (auto const rank : {ballast::whole_row, std::int64_t{1}})
    expect_same_refusal([&] { return gpu::context_cu_seqlens<T>(on, offsets.data(), 2, members.data(), 4, sent.data(), 3, {2}, rank); },
                        [&] { return ballast::context_cu_seqlens<T>(packs, lengths, {2}, rank); }, "a row that is too long");
  auto const beyond = send(on, std::vector<std::uint64_t>{0, std::uint64_t{1} << 40, 4});  // beside a row that is too long
  ballast_test::expect_refusal("cu_seqlens: offsets must rise from 0 to the 4 members", [&] {
    return gpu::context_cu_seqlens<T>(on, beyond.data(), 2, members.data(), 4, send(on, std::vector<std::int64_t>(3)).data(), 3, {2});
  });
  std::vector<std::int64_t> const falls{(std::numeric_limits<std::int64_t>::max)(), (std::numeric_limits<std::int64_t>::min)()};
  auto const falling = send(on, falls);
  expect_same_refusal([&] { return gpu::sequence_lengths<T>(on, falling.data(), 1); }, [&] { return ballast::sequence_lengths<T>(falls); },
                      "a fall");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv,
                                      part{"masks",
                                           [](auto on) {
                                             for (std::size_t const rows : {0U, 1U, 2U, 33U})
                                               for (std::size_t const width : {1U, 7U, 8U, 31U, 300U, 2048U, 2049U}) {
                                                 test_mask<std::uint8_t, std::int32_t, std::int64_t>(on, rows, width);
                                                 test_mask<std::int64_t, std::int64_t, std::int32_t>(on, rows, width);
                                               }
                                             test_bad_masks(on);
                                             test_nodes();
                                           }},
                                      part{"large", [](auto on) { test_mask<std::uint8_t, std::int32_t, std::int64_t>(on, 1000, 1000); }},
                                      part{"context",
                                           [](auto on) {
                                             for (int shape = 0; shape < ballast_test::distributions; ++shape)
                                               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U}) {
                                                 test_context<std::int32_t>(on, shape, n, 4);
                                                 test_context<std::int64_t>(on, shape, n, 3);
                                               }
                                             test_context<std::int32_t>(on, 3, 100'000, 8);
                                           }},
                                      part{"bad_data", [](auto on) {
                                             test_as_host<std::int32_t>(on);
                                             test_as_host<std::int64_t>(on);
                                           }});
}
