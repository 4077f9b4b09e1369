// SPDX-License-Identifier: Apache-2.0
// cu_seqlens, position ids, segment ids and zigzag indices of whole batches are those of the host, row by row.
#include "support/backends.hpp"
#include "support/counted.hpp"
#include "support/distributions.hpp"

#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/layout/segment_ids.cuh>
#include <ballast/gpu/layout/zigzag.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_equal;
using ballast_test::expect_refusal;
using ballast_test::expect_same_refusal;
using ballast_test::one_of;
using ballast_test::part;
using ballast_test::refusal;

namespace {

constexpr std::int64_t wide_rows = 3000, narrow_rows = 640;  // tokens of a pack: above and below a tile

template <class On>
struct batch {
  On on;
  std::int64_t capacity;
  std::vector<std::int64_t> lengths;
  ballast::groups<> packs;
  gpu::array<std::int64_t, On> device_lengths;
  gpu::array<std::uint64_t, On> offsets;
  gpu::array<std::uint32_t, On> members;

  batch(On where, int distribution, std::size_t count, std::int64_t pack)
      : on(where),
        capacity(pack),
        lengths(ballast_test::lengths_of(distribution, count, pack)),
        packs(ballast::best_fit_decreasing(lengths, {.capacity = capacity}).packs),
        device_lengths(send(on, lengths)),
        offsets(send(on, packs.offsets)),
        members(send(on, packs.members)) {}
  template <class Offset = std::int32_t>
  [[nodiscard]] gpu::array<Offset, On> cu(std::int64_t multiple = 1) const {
    return gpu::cu_seqlens<Offset>(on, offsets.data(), packs.size(), members.data(), packs.members.size(), device_lengths.data(),
                                   lengths.size(), multiple);
  }
};

// Row p of `all` rows.
template <class T>
std::vector<T> row_of(std::vector<T> const& all, std::size_t p, std::size_t row) {
  auto const begin = all.begin() + static_cast<std::ptrdiff_t>(p * row);
  return {begin, begin + static_cast<std::ptrdiff_t>(row)};
}

template <class On>
void test_cu_seqlens(batch<On> const& all, std::string const& at) {
  auto const packs = all.packs.size();
  expect_equal(fetch(all.on, all.cu()), ballast::cu_seqlens(all.packs, all.lengths), "cu_seqlens" + at);
  expect_equal(fetch(all.on, all.template cu<std::int64_t>(16)), ballast::cu_seqlens<std::int64_t>(all.packs, all.lengths, 16),
               "cu_seqlens of multiples" + at);
  auto const one = gpu::cu_seqlens<std::int64_t>(all.on, nullptr, 1, all.members.data(), all.packs.members.size(),
                                                 all.device_lengths.data(), all.lengths.size(), 4);
  expect_equal(fetch(all.on, one), ballast::cu_seqlens<std::int64_t>(all.packs.members, all.lengths, 4), "cu_seqlens of one row" + at);
  auto const cu = all.cu();
  gpu::array<std::int32_t, On> const longest(all.on, 1);
  call(all.on, "max_seqlen", [&](void* temp, std::size_t& bytes) {
    return gpu::max_seqlen(all.on, temp, bytes, cu.data(), all.packs.members.size() + packs, longest.data());
  });
  expect(fetch(all.on, longest)[0] == ballast::max_seqlen(ballast::cu_seqlens(all.packs, all.lengths)), "max_seqlen" + at);
}

template <class On>
void test_ids(batch<On> const& all, std::string const& at) {
  auto const packs = all.packs.size(), sequences = all.packs.members.size();
  auto const row = static_cast<std::size_t>(all.capacity) + 77;
  auto const cu = all.cu(), padded = all.cu(1);
  auto const host_cu = ballast::cu_seqlens(all.packs, all.lengths);
  auto const positions = fetch(all.on, gpu::position_ids(all.on, cu.data(), all.offsets.data(), packs, sequences, row));
  auto const segments =
      fetch(all.on, gpu::segment_ids<std::int64_t>(all.on, cu.data(), padded.data(), all.offsets.data(), packs, sequences, row));
  for (std::size_t p = 0; p < packs; ++p) {
    auto const of_pack = ballast::cu_seqlens_of(host_cu, all.packs, p);
    expect_equal(row_of(positions, p, row), ballast::position_ids(of_pack, row), "position ids of row " + std::to_string(p) + at);
    expect_equal(row_of(segments, p, row), ballast::segment_ids<std::int64_t>(of_pack, row),
                 "segment ids of row " + std::to_string(p) + at);
  }
}

// One row with all sequences, padded for context parallelism.
template <class On>
void test_zigzag(batch<On> const& all, std::int64_t ranks, std::string const& at) {
  ballast::zigzag const rule{ranks};
  auto const sequences = all.packs.members.size();
  auto const make = [&](std::int64_t multiple) {
    return gpu::cu_seqlens<std::int32_t>(all.on, nullptr, 1, all.members.data(), sequences, all.device_lengths.data(), all.lengths.size(),
                                         multiple);
  };
  auto const cu = make(1), padded = make(2 * ranks);
  auto const host_cu = ballast::cu_seqlens(all.packs.members, all.lengths);
  auto const host_padded = ballast::cu_seqlens(all.packs.members, all.lengths, 2 * ranks);
  auto const row = static_cast<std::size_t>(host_padded.back());
  for (auto const rank : {std::int64_t{0}, ranks / 2, ranks - 1})
    expect_equal(fetch(all.on, gpu::zigzag_indices(all.on, padded.data(), sequences, rule, rank, row / static_cast<std::size_t>(ranks))),
                 ballast::zigzag_indices(host_padded, rule, rank), "zigzag of rank " + std::to_string(rank) + at);
  expect_equal(fetch(all.on, gpu::zigzag_inverse<std::int64_t>(all.on, padded.data(), sequences, rule, row)),
               ballast::zigzag_inverse<std::int64_t>(host_padded, rule), "zigzag inverse" + at);
  expect_equal(fetch(all.on, gpu::segment_ids(all.on, cu.data(), padded.data(), nullptr, 1, sequences, row)),
               ballast::segment_ids(host_cu, host_padded), "segment ids of padded sequences" + at);
}

template <class On>
void test_bad_lengths(On on) {
  ballast::groups<> const packs{{0, 2, 5}, {4, 0, 1, 2, 3}};
  using lengths = std::vector<std::int64_t>;
  auto const big = std::int64_t{1} << 62;
  for (auto const& bad :
       {lengths{1, 2, 3, 0, 5}, lengths{1, -7, 3, 4, 5}, lengths{1, 2, 3, 4}, lengths{1, 1'000'000'000, 1'000'000'000, 1'000'000'000, 5},
        lengths{big, big, big, 4, big}, lengths{2'147'483'647, 1, 1, 1, 1}}) {
    auto const offsets = send(on, packs.offsets);
    auto const members = send(on, packs.members);
    auto const on_device = send(on, bad);
    auto const twin = [&](auto offset) {
      return refusal(
          [&] { return gpu::cu_seqlens<decltype(offset)>(on, offsets.data(), 2, members.data(), 5, on_device.data(), bad.size()); });
    };
    auto const host = [&](auto offset) { return refusal([&] { return ballast::cu_seqlens<decltype(offset)>(packs, bad); }); };
    expect(twin(std::int32_t{}) == host(std::int32_t{}) && twin(std::int32_t{}) != "accepted", "bad lengths: " + twin(std::int32_t{}));
    expect(twin(std::int64_t{}) == host(std::int64_t{}), "bad lengths in 64 bits: " + twin(std::int64_t{}));
  }
  std::vector<std::uint64_t> const falling{0, 5, 3};
  auto const offsets = send(on, falling);
  auto const members = send(on, packs.members);
  auto const on_device = send(on, lengths{1, 2, 3, 4, 5});
  expect(refusal([&] { return gpu::cu_seqlens(on, offsets.data(), 2, members.data(), 5, on_device.data(), 5); }) ==
             "cu_seqlens: offsets must rise from 0 to the 5 members",
         "falling offsets");
  std::vector<std::uint64_t> const far{0, std::uint64_t{1} << 40, 5};  // beside a length, or an entry, that is bad as well
  auto const beyond = send(on, far);
  auto const no_tokens = send(on, lengths{0, 2, 3, 4, 5});
  auto const no_start = send(on, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7});
  expect_refusal("cu_seqlens: offsets must rise from 0 to the 5 members",
                 [&] { return gpu::cu_seqlens(on, beyond.data(), 2, members.data(), 5, no_tokens.data(), 5); });
  expect_refusal("offsets must rise from 0 to the 5 sequences",
                 [&] { return gpu::position_ids(on, no_start.data(), beyond.data(), 2, 5, 20); });
  std::size_t bytes = 0;
  gpu::array<std::int32_t, On> const out(on, 7);
  gpu::array<std::uint64_t, On> const bad(on, 1);
  auto const twin = [&](void* temp, std::uint64_t const* from, std::size_t count, std::int64_t multiple) {
    return gpu::cu_seqlens(on, temp, bytes, from, count, members.data(), 5, on_device.data(), 5, multiple, out.data(), bad.data());
  };
  expect(twin(nullptr, nullptr, 2, 1) == On::invalid_value && twin(nullptr, nullptr, 1, 0) == On::invalid_value, "scalars");
  gpu::check(twin(nullptr, nullptr, 1, 1), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  --bytes;
  expect(twin(temp.data(), nullptr, 1, 1) == On::invalid_value, "a workspace of a byte too few");
}

template <class On>
void test_bad_rows(On on) {
  using entries = std::vector<std::int64_t>;
  entries const far{0, (std::numeric_limits<std::int64_t>::min)(), (std::numeric_limits<std::int64_t>::max)()};
  for (auto const& bad : {entries{1, 2, 3}, entries{0, 2, 1}, entries{0, 5, 11}, entries{0, -3, 4}, entries{0, 0, -1}, far}) {
    auto const cu = send(on, bad);
    std::vector<std::int32_t> row(10);
    expect_same_refusal([&] { return gpu::position_ids(on, cu.data(), nullptr, 1, 2, 10); },
                        [&] { return ballast::position_ids(bad, std::span(row)), 0; }, "position ids");
    expect_same_refusal([&] { return gpu::segment_ids(on, cu.data(), cu.data(), nullptr, 1, 2, 10); },
                        [&] { return ballast::segment_ids(bad, bad, std::span(row)), 0; }, "segment ids");
    if (bad[2] != 11)
      expect_same_refusal([&] { return gpu::zigzag_indices(on, cu.data(), 2, {2}, 1, 5); },
                          [&] { return ballast::zigzag_indices(bad, {2}, 1); }, "zigzag");
  }
  entries const good{0, 4, 10}, tight{0, 4, 8}, wide{0, (std::int64_t{1} << 31) - 4, std::int64_t{1} << 31};
  auto const cu = send(on, good), narrow = send(on, tight), large = send(on, wide);
  std::vector<std::int32_t> row(10);
  expect_same_refusal([&] { return gpu::segment_ids(on, cu.data(), narrow.data(), nullptr, 1, 2, 10); },
                      [&] { return ballast::segment_ids(good, tight, std::span(row)), 0; }, "too little room");
  expect_same_refusal([&] { return gpu::zigzag_indices(on, cu.data(), 2, {2}, 1, 5); },
                      [&] { return ballast::zigzag_indices(good, {2}, 1); }, "a sequence that does not divide");
  expect_same_refusal([&] { return gpu::zigzag_indices(on, large.data(), 2, {1}, 0, 10); },
                      [&] { return ballast::zigzag_indices(wide, {1}, 0); }, "tokens above 32 bits");
  expect_same_refusal([&] { return gpu::zigzag_inverse(on, cu.data(), 2, {2}, 10); }, [&] { return ballast::zigzag_inverse(good, {2}); },
                      "inverse of a sequence that does not divide");
  std::size_t bytes = 0;
  gpu::array<std::int32_t, On> const out(on, 10);
  gpu::array<std::uint64_t, On> const first_bad(on, 1);
  expect(gpu::zigzag_indices(on, nullptr, bytes, cu.data(), 2, {2}, 2, 5, out.data(), first_bad.data()) == On::invalid_value,
         "rank of none");
  expect(gpu::zigzag_inverse(on, nullptr, bytes, cu.data(), 2, {3}, 10, out.data(), first_bad.data()) == On::invalid_value,
         "undivided row");
  expect(gpu::position_ids(on, nullptr, bytes, cu.data(), nullptr, 2, 2, 10, out.data(), first_bad.data()) == On::invalid_value,
         "no offsets");
  auto const far_row = std::size_t{1} << 62;  // whose bytes are 0 modulo 2^64
  expect(refusal([&] { return gpu::position_ids(on, cu.data(), nullptr, 1, 2, far_row); }) ==
             "position_ids: 1 x 4611686018427387904 tokens of width 1 are more than memory can hold",
         "positions beyond memory");
  expect(refusal([&] { return gpu::segment_ids(on, cu.data(), cu.data(), nullptr, 1, 2, far_row); }) ==
             "segment_ids: 1 x 4611686018427387904 tokens of width 1 are more than memory can hold",
         "segments beyond memory");
  expect(refusal([&] { return gpu::array<std::int32_t, On>(on, far_row); }) == "allocate: error 1 of the backend",
         "an array beyond memory");
  auto const offsets = send(on, std::vector<std::uint64_t>{0, 9});  // an entry is bad, too; no pack is read by these
  for (auto const& entry : {entries{0, 4, 10}, entries{1, 4, 10}}) {
    auto const of_packs = send(on, entry);
    expect(refusal([&] { return gpu::position_ids(on, of_packs.data(), offsets.data(), 1, 2, 10); }) ==
               "offsets must rise from 0 to the 2 sequences",
           "offsets beyond the sequences");
  }
}

// What twins and hosts say of random input, much of which is bad.
template <class Offset, class On>
void test_as_host(On on) {
  using numbers = std::vector<std::int64_t>;
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto const at = " in round " + std::to_string(round);
    auto const odd = [&](std::uint64_t in) { return draw() % in == 0; };
    numbers lengths(1 + draw() % 5);
    for (auto& l : lengths)
      l = odd(12) ? one_of<std::int64_t>(draw, {0, -5, 1LL << 30, 1LL << 62, ~(1ULL << 63)}) : one_of<std::int64_t>(draw, {4, 8});
    ballast::groups<> packs;
    for (auto p = 1 + draw() % 3; p > 0; --p) {
      std::vector<std::uint32_t> pack(draw() % 3);
      for (auto& m : pack) m = static_cast<std::uint32_t>(draw() % (lengths.size() + (odd(10) ? 2 : 0)));
      packs.push_back(pack);
    }
    auto const multiple = one_of<std::int64_t>(draw, {1, 1, 8, 8, 0, 1LL << 62});
    auto const offsets = send(on, packs.offsets);
    auto const members = send(on, packs.members);
    auto const sent = send(on, lengths);
    auto const all = packs.members.size();
    refused += expect_as_host(
        [&] {
          return gpu::cu_seqlens<Offset>(on, offsets.data(), packs.size(), members.data(), all, sent.data(), lengths.size(), multiple);
        },
        [&] { return ballast::cu_seqlens<Offset>(packs, lengths, multiple); }, "cu_seqlens" + at);
    refused +=
        expect_as_host([&] { return gpu::cu_seqlens<Offset>(on, nullptr, 1, members.data(), all, sent.data(), lengths.size(), multiple); },
                       [&] { return ballast::cu_seqlens<Offset>(packs.members, lengths, multiple); }, "cu_seqlens of one pack" + at);

    numbers cu{odd(10) ? 1 : 0};
    for (auto n = draw() % 4; n > 0; --n) cu.push_back(cu.back() + (odd(10) ? one_of<std::int64_t>(draw, {-1, 3, 1LL << 31}) : 4));
    auto padded = cu;
    for (std::size_t i = 1; i < cu.size(); ++i)
      padded[i] = padded[i - 1] + cu[i] - cu[i - 1] + (odd(6) ? one_of<std::int64_t>(draw, {-1, 2}) : 0);
    auto const sequences = cu.size() - 1;
    auto const row = odd(10) ? std::size_t{5} : std::size_t{12};
    auto const bounds = send(on, cu), wide = send(on, padded);
    std::vector<Offset> ids(row);
    refused += expect_as_host([&] { return gpu::position_ids<Offset>(on, bounds.data(), nullptr, 1, sequences, row); },
                              [&] { return ballast::position_ids(cu, std::span(ids)), 0; }, "position ids" + at);
    refused += expect_as_host([&] { return gpu::segment_ids<Offset>(on, bounds.data(), wide.data(), nullptr, 1, sequences, row); },
                              [&] { return ballast::segment_ids(cu, padded, std::span(ids)), 0; }, "segment ids" + at);
    ballast::zigzag const rule{one_of<std::int64_t>(draw, {1, 2, 2, 2, 3, 0, -1, 1LL << 31})};
    auto const rank = one_of<std::int64_t>(draw, {0, 0, 1, 2, -1});
    auto const of_rank = static_cast<std::size_t>(cu.back() > 0 && cu.back() < 100 && rule.ranks > 0 ? cu.back() / rule.ranks : 0);
    std::vector<Offset> held(odd(10) ? 7 : of_rank), back(odd(10)                            ? 7
                                                          : cu.back() > 0 && cu.back() < 100 ? static_cast<std::size_t>(cu.back())
                                                                                             : 0);
    refused += expect_as_host([&] { return gpu::zigzag_indices<Offset>(on, bounds.data(), sequences, rule, rank, held.size()); },
                              [&] { return ballast::zigzag_indices(cu, rule, rank, std::span(held)), 0; }, "zigzag" + at);
    refused += expect_as_host([&] { return gpu::zigzag_inverse<Offset>(on, bounds.data(), sequences, rule, back.size()); },
                              [&] { return ballast::zigzag_inverse(cu, rule, std::span(back)), 0; }, "zigzag inverse" + at);
  }
  expect(refused > 300 && refused < 900, std::to_string(refused) + " of 1200 refused");
}

// A trainer's row costs two nodes of a CUDA graph: checks and tiles, and the pass.
void test_nodes() {
  for (std::size_t const row : {8'192U, 32'768U, 131'072U}) {
    std::vector<std::int32_t> cu{0};
    for (ballast::splitmix64 draw(row); static_cast<std::size_t>(cu.back()) < row;)
      cu.push_back((std::min)(static_cast<std::int32_t>(row), cu.back() + static_cast<std::int32_t>(16 * (1 + draw() % 64))));
    std::vector<std::int32_t> out(row);
    std::uint64_t bad = 0;
    auto const n = cu.size() - 1;
    auto const at = " at " + std::to_string(row);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::position_ids(on, temp, bytes, cu.data(), nullptr, 1, n, row, out.data(), &bad);
           }) == 2,
           "position_ids" + at);
    expect_equal(out, ballast::position_ids(cu, row), "position_ids" + at);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::segment_ids(on, temp, bytes, cu.data(), cu.data(), nullptr, 1, n, row, out.data(), &bad);
           }) == 2,
           "segment_ids" + at);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::zigzag_indices(on, temp, bytes, cu.data(), n, {8}, 3, row / 8, out.data(), &bad);
           }) == 2,
           "zigzag_indices" + at);
    expect(bad == gpu::none_bad, "good rows" + at);
  }
}

}  // namespace

int main(int argc, char** argv) {
  test_nodes();
  return ballast_test::run_everywhere(
      argc, argv,
      part{"builders",
           [](auto on) {
             for (int shape = 0; shape < ballast_test::distributions; ++shape) {
               auto const draw = [&](std::size_t n) { return batch(on, shape, n, n < 1000 ? wide_rows : narrow_rows); };
               auto const in_shape = " in distribution " + std::to_string(shape);
               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U}) {
                 auto const all = draw(n);
                 auto const at = " of " + std::to_string(n) + in_shape;
                 for (int twice = 0; twice < 2; ++twice) {
                   test_cu_seqlens(all, at);
                   test_ids(all, at);
                   for (std::int64_t const ranks : {1, 2, 5}) test_zigzag(all, ranks, at);
                 }
               }
               auto const thousand = draw(1000);
               test_cu_seqlens(thousand, " of 1000" + in_shape);
               test_ids(thousand, " of 1000" + in_shape);
               test_zigzag(thousand, 2, " of 1000" + in_shape);
               test_cu_seqlens(draw(100'000), " of 100000" + in_shape);
             }
           }},
      part{"large", [](auto on) { test_cu_seqlens(batch(on, 1, 1'000'000, narrow_rows), " of a million"); }},
      part{"bad_data", [](auto on) {
             test_bad_lengths(on);
             test_bad_rows(on);
             test_as_host<std::int32_t>(on);
             test_as_host<std::int64_t>(on);
           }});
}
