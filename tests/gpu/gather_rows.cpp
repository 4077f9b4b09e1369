// SPDX-License-Identifier: Apache-2.0
// Values that move between stored samples and packed rows are those of the host.
#include "support/backends.hpp"
#include "support/counted.hpp"
#include "support/distributions.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/layout/gather_rows.cuh>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
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

// A plan on the host and on the device.
template <class On, class Index, class Offset, class Start>
struct stored {
  ballast::groups<Index> packs;
  std::vector<Offset> cu;
  std::vector<Start> starts;
  std::size_t row;
  gpu::array<std::uint64_t, On> offsets;
  gpu::array<Index, On> members;
  gpu::array<Offset, On> device_cu;
  gpu::array<Start, On> device_starts;
  gpu::stored_packs<Index, Offset, Start> plan;

  stored(On on, ballast::groups<Index> const& p, std::vector<Offset> const& c, std::vector<Start> const& s, std::size_t tokens)
      : packs(p),
        cu(c),
        starts(s),
        row(tokens),
        offsets(send(on, p.offsets)),
        members(send(on, p.members)),
        device_cu(send(on, c)),
        device_starts(send(on, s)),
        plan{.offsets = offsets.data(),
             .packs = p.size(),
             .members = members.data(),
             .placed = p.members.size(),
             .cu = device_cu.data(),
             .starts = device_starts.data(),
             .samples = s.size() - 1,
             .stored = s.back() < 0 ? 0 : static_cast<std::size_t>(s.back()),
             .row = tokens} {}
};

template <class T>
std::vector<T> numbered(std::size_t count) {
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(i + 1);
  return out;
}

template <class Index, class Offset, class Start, class On>
auto draw(On on, int shape, std::size_t count, std::int64_t capacity, std::int64_t multiple) {
  auto const lengths = ballast_test::lengths_of(shape, count, capacity - multiple);
  auto const options = ballast::packing_options{.capacity = capacity, .sample_multiple = multiple};
  auto const plan = ballast::best_fit_decreasing<Index>(lengths, options).packs;
  std::vector<Start> starts{0};
  for (auto const l : lengths) starts.push_back(static_cast<Start>(starts.back() + l));
  return stored<On, Index, Offset, Start>(on, plan, ballast::cu_seqlens<Offset>(plan, lengths, multiple), starts,
                                          static_cast<std::size_t>(capacity) + 13);
}

// Tokens, labels and ids in one pass, and each way back.
template <class Id, class On, class Stored>
void test_tokens(On on, Stored const& all, std::string const& at) {
  auto const tokens = numbered<std::int64_t>(all.plan.stored);
  auto const labels = numbered<std::int16_t>(all.plan.stored);
  auto const places = all.plan.packs * all.row;
  auto const from = send(on, tokens);
  auto const label_from = send(on, labels);
  gpu::array<std::int64_t, On> const rows(on, places);
  gpu::array<std::int16_t, On> const label_rows(on, places);
  gpu::array<Id, On> const positions(on, places), segments(on, places);
  gpu::gather_rows(on, all.plan, gpu::row_ids<Id>{positions.data(), segments.data()},
                   gpu::row_column<std::int64_t>{from.data(), rows.data(), -1},
                   gpu::row_column<std::int16_t>{label_from.data(), label_rows.data(), -100});
  auto const wanted = ballast::gather_rows(all.packs, all.cu, all.starts, tokens, {all.row}, -1);
  expect_equal(fetch(on, rows), wanted, "tokens" + at);
  expect_equal(fetch(on, label_rows), ballast::gather_rows(all.packs, all.cu, all.starts, labels, {all.row}, -100), "labels" + at);
  auto const ids = fetch(on, positions), numbers = fetch(on, segments);
  for (std::size_t p = 0; p < all.plan.packs; ++p) {
    auto const padded = ballast::cu_seqlens_of(all.cu, all.packs, p);
    std::vector<typename decltype(all.cu)::value_type> cu{0};
    for (auto const m : all.packs[p]) cu.push_back(static_cast<decltype(cu)::value_type>(cu.back() + all.starts[m + 1] - all.starts[m]));
    auto const begin = static_cast<std::ptrdiff_t>(p * all.row), end = begin + static_cast<std::ptrdiff_t>(all.row);
    expect_equal(std::vector(ids.begin() + begin, ids.begin() + end), ballast::position_ids<Id>(padded, all.row), "positions" + at);
    expect_equal(std::vector(numbers.begin() + begin, numbers.begin() + end),
                 ballast::segment_ids<Id>(std::span<typename decltype(cu)::value_type const>(cu), padded, all.row), "segments" + at);
  }
  expect_equal(fetch(on, gpu::scatter_rows(on, all.plan, rows.data())), tokens, "tokens back" + at);
}

// Rows of many values: in words of 16 bytes, or, where an array or a width does not allow it, one by one.
template <class T, class On, class Stored>
void test_wide(On on, Stored const& all, std::size_t width, std::string const& at) {
  auto const values = numbered<T>(all.plan.stored * width);
  auto const wanted = ballast::gather_rows(all.packs, all.cu, all.starts, values, {all.row, width}, T{77});
  auto const from = send(on, values);
  auto const rows = gpu::gather_rows(on, all.plan, from.data(), width, T{77});
  expect_equal(fetch(on, rows), wanted, "wide rows" + at);
  expect_equal(fetch(on, gpu::scatter_rows(on, all.plan, rows.data(), width)), values, "wide rows back" + at);
  auto shifted = values;
  shifted.insert(shifted.begin(), T{0});
  auto const beside = send(on, shifted);
  expect_equal(fetch(on, gpu::gather_rows(on, all.plan, beside.data() + 1, width, T{77})), wanted, "rows of shifted values" + at);
}

// Rows of a trainer's size take two nodes of a CUDA graph, and the way back four.
void test_nodes() {
  for (std::size_t const row : {8'192U, 32'768U, 131'072U}) {
    auto const length = static_cast<std::int64_t>(row / 2);
    std::vector<std::uint32_t> const members{1, 0};
    std::vector<std::int64_t> const cu{0, length, 2 * length};
    auto const values = numbered<std::int32_t>(row);
    std::vector<std::int32_t> rows(row), back(row);
    std::uint64_t bad = 0;
    gpu::stored_packs<std::uint32_t, std::int64_t, std::int64_t> const plan{
        .members = members.data(), .placed = 2, .cu = cu.data(), .starts = cu.data(), .samples = 2, .stored = row, .row = row};
    auto const at = " at " + std::to_string(row);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::gather_rows(on, temp, bytes, plan, 1, gpu::row_column<std::int32_t>{values.data(), rows.data()}, &bad);
           }) == 2,
           "gather_rows" + at);
    expect(rows[0] == static_cast<std::int32_t>(length) + 1, "rows" + at);
    expect(ballast_test::nodes_of([&](auto on, void* temp, std::size_t& bytes) {
             return gpu::scatter_rows(on, temp, bytes, plan, 1, rows.data(), back.data(), &bad);
           }) == 4,
           "scatter_rows" + at);
    expect(back == values && bad == gpu::none_bad, "values" + at);
  }
}

// All members in one row without offsets; a part of the samples in a store that begins and ends with tokens of none.
template <class On>
void test_shapes(On on) {
  ballast::groups<> const packs{{0, 3}, {3, 1, 1}};
  stored<On, std::uint32_t, std::int32_t, std::int64_t> all(on, packs, {0, 4, 7, 10}, {2, 3, 6, 9, 12}, 11);
  all.plan.stored = 14;
  auto const values = numbered<double>(14);
  auto const sent = send(on, values);
  auto const wanted = ballast::gather_rows(all.packs, all.cu, all.starts, values, {11}, 0.5);
  expect_equal(fetch(on, gpu::gather_rows(on, all.plan, sent.data(), 1, 0.5)), wanted, "a sample twice");
  all.plan.offsets = nullptr;
  expect_equal(fetch(on, gpu::gather_rows(on, all.plan, sent.data(), 1, 0.5)), wanted, "without offsets");
  all.plan.placed = 2;
  auto const rows = send(on, wanted);
  ballast::groups<> const some{{0, 2}, {3, 1}};
  std::vector<double> back(14, 0.0);
  ballast::scatter_rows(some, std::vector<std::int32_t>{0, 4, 7}, all.starts, std::span<double const>(wanted), std::span(back), {11});
  expect_equal(fetch(on, gpu::scatter_rows(on, all.plan, rows.data())), back, "a part of the samples");
  std::size_t bytes = 0;
  gpu::array<std::uint64_t, On> const bad(on, 1);
  gpu::array<double, On> const out(on, 14);
  auto const gather = [&](void* temp, std::size_t width) {
    return gpu::gather_rows(on, temp, bytes, all.plan, width, gpu::row_column<double>{sent.data(), out.data()}, bad.data());
  };
  expect(gather(nullptr, 0) == On::invalid_value, "width of 0");
  gpu::check(gather(nullptr, 1), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  --bytes;
  expect(gather(temp.data(), 1) == On::invalid_value, "a workspace of a byte too few");
  all.plan.packs = 2;
  expect(gather(nullptr, 1) == On::invalid_value, "two packs without offsets");
}

// What twins and hosts say of random plans, much of which is bad; and `first_bad` of one mistake.
template <class Index, class Offset, class Start, class On>
void test_bad_data(On on) {
  ballast::splitmix64 draw(42);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    auto const odd = [&](std::uint64_t in) { return draw() % in == 0; };
    std::vector<Start> starts{static_cast<Start>(odd(12) ? -1 : 0)};
    auto const samples = 1 + draw() % 6;
    while (starts.size() <= samples) starts.push_back(static_cast<Start>(starts.back() + (odd(20) ? -2 : static_cast<int>(draw() % 5))));
    auto const order = ballast::random_permutation(samples, static_cast<std::uint64_t>(round));
    ballast::groups<Index> packs;
    std::vector<Offset> cu;
    for (std::size_t i = 0; i < samples;) {
      std::vector<Index> pack;
      cu.push_back(static_cast<Offset>(odd(20) ? 1 : 0));
      for (auto n = draw() % 4; n > 0 && i < samples; --n, ++i) {
        pack.push_back(static_cast<Index>(odd(15) ? samples + 1 : odd(15) ? order[0] : order[i]));
        auto const tokens = pack.back() < samples ? starts[pack.back() + 1] - starts[pack.back()] : 1;
        cu.push_back(static_cast<Offset>(cu.back() + tokens + (odd(15) ? -1 : odd(6) ? 2 : 0)));
      }
      packs.push_back(pack);
    }
    auto const row = static_cast<std::size_t>(odd(8) ? 6 : 30);
    stored<On, Index, Offset, Start> all(on, packs, cu, starts, row);
    if (odd(10) && all.plan.stored > 0) --all.plan.stored;
    auto const values = numbered<float>(all.plan.stored), rows = numbered<float>(packs.size() * row);
    auto const from = send(on, values), row_from = send(on, rows);
    auto const at = " in round " + std::to_string(round);
    refused += expect_as_host([&] { return gpu::gather_rows(on, all.plan, from.data()); },
                              [&] { return ballast::gather_rows(packs, cu, starts, values, {row}); }, "gather" + at);
    std::vector<float> out(all.plan.stored);
    refused += expect_as_host(
        [&] { return gpu::scatter_rows(on, all.plan, row_from.data()); },
        [&] { return ballast::scatter_rows(packs, cu, starts, std::span<float const>(rows), std::span(out), {row}), 0; }, "scatter" + at);
  }
  expect(refused > 100 && refused < 320, std::to_string(refused) + " of 400 refused");
  stored<On, Index, Offset, Start> two(on, ballast::groups<Index>{{0, 0, 0}, {}}, {0, 0}, {0}, std::size_t{1} << 63);  // wrap to no tokens
  auto const none = send(on, std::vector<float>());
  expect_same_refusal([&] { return gpu::gather_rows(on, two.plan, none.data()); },
                      [&] { return ballast::gather_rows(two.packs, two.cu, two.starts, std::vector<float>(), {two.row}); }, "huge rows");
}

template <class On>
void test_first_bad(On on) {
  ballast::groups<> const packs{{0, 2, 3}, {2, 0, 1}};
  std::vector<std::int32_t> const cu{0, 2, 5, 0, 4};
  std::vector<std::int64_t> const starts{0, 3, 7, 9};
  auto const index = [&](auto const& change, bool scatter = false) {
    auto p = packs;
    auto c = cu;
    auto s = starts;
    change(p, c, s);
    stored<On, std::uint32_t, std::int32_t, std::int64_t> all(on, packs, c, s, 5);
    auto const offsets = send(on, p.offsets);
    auto const members = send(on, p.members);
    all.plan.offsets = offsets.data();
    all.plan.members = members.data();
    all.plan.stored = 9;
    auto const from = send(on, numbered<float>(10));
    gpu::array<float, On> const out(on, 10);
    gpu::array<std::uint64_t, On> const bad(on, 1);
    call(on, "gather_rows", [&](void* temp, std::size_t& bytes) {
      if (scatter) return gpu::scatter_rows(on, temp, bytes, all.plan, 1, from.data(), out.data(), bad.data());
      return gpu::gather_rows(on, temp, bytes, all.plan, 1, gpu::row_column<float>{from.data(), out.data()}, bad.data());
    });
    return gpu::fetch_one(on, bad.data());
  };
  expect(index([](auto&, auto&, auto&) {}) == gpu::none_bad, "a good plan");
  expect(index([](auto&, auto& c, auto&) { c[2] = 1; }) == 2, "an entry that falls");
  expect(index([](auto&, auto& c, auto&) { c[3] = 1; }) == 3, "a pack that does not start at 0");
  expect(index([](auto& p, auto&, auto&) { p.members[2] = 3; }) == 4, "a member that is no sample");
  expect(index([](auto&, auto& c, auto&) { c[4] = 3; }) == 4, "a sample longer than its place");
  expect(index([](auto& p, auto&, auto&) { p.offsets[1] = 4; }) <= 5, "offsets that fall");
  expect(index([](auto&, auto&, auto& s) { s[3] = 10; }) <= 9, "starts beyond the data");
  expect(index([](auto& p, auto&, auto&) { p.members[1] = 2; }) == gpu::none_bad, "a sample twice");
  expect(index([](auto& p, auto&, auto&) { p.members[1] = 2; }, true) == 2, "a sample twice, to be written");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(
      argc, argv,
      part{"rows",
           [](auto on) {
             for (int shape = 0; shape < ballast_test::distributions; ++shape)
               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 500U}) {
                 auto const at = ", " + std::to_string(n) + " samples in distribution " + std::to_string(shape);
                 auto const all = draw<std::uint32_t, std::int32_t, std::int64_t>(on, shape, n, 600, 1);
                 auto const padded = draw<std::uint64_t, std::int64_t, std::int32_t>(on, shape, n, 3000, 8);
                 test_tokens<std::int32_t>(on, all, at);
                 test_tokens<std::int64_t>(on, padded, " of padded samples" + at);
                 if (n > 33) continue;
                 for (std::size_t const width : {1U, 3U, 8U}) test_wide<float>(on, all, width, at);
                 test_wide<std::uint16_t>(on, padded, 16, at);
               }
             test_shapes(on);
             test_nodes();
           }},
      part{"large",
           [](auto on) {
             auto const all = draw<std::uint32_t, std::int32_t, std::int64_t>(on, 2, 5000, 400, 1);  // a million tokens
             test_tokens<std::int32_t>(on, all, " of a million");
           }},
      part{"bad_data", [](auto on) {
             test_bad_data<std::uint32_t, std::int32_t, std::int64_t>(on);
             test_bad_data<std::uint64_t, std::int64_t, std::int32_t>(on);
             test_first_bad(on);
           }});
}
