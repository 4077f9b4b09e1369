// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/gather_rows.hpp>

#include <ballast/core/random.hpp>
#include <ballast/layout/cu_seqlens.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace test_layout_gather_rows {

using ballast_test::refusal;
using ballast_test::refused_untouched;

TEST_CASE("gather_rows: each token is where its sequence is, the rest is padding; scatter_rows is the inverse") {
  auto const multiple = GENERATE(std::int64_t{1}, 4);
  auto const width = GENERATE(std::size_t{1}, 3);
  ballast::splitmix64 draw(7);
  std::vector<std::int64_t> lengths(40), starts{5};  // the store begins with tokens of no sample
  for (auto& l : lengths) starts.push_back(starts.back() + (l = 1 + static_cast<std::int64_t>(draw() % 9)));
  ballast::groups<> packs;
  auto const order = ballast::random_permutation(lengths.size(), 3);
  for (std::size_t at = 0; at < order.size(); at += 5) packs.push_back(std::span(order).subspan(at, 5));
  packs.push_back({});
  auto const cu = ballast::cu_seqlens(packs, lengths, multiple);
  ballast::row_shape const shape{.tokens = 64, .width = width};
  std::vector<double> values(static_cast<std::size_t>(starts.back() + 2) * width);
  std::iota(values.begin(), values.end(), 1.0);

  auto const rows = ballast::gather_rows(packs, cu, starts, values, shape, -1.0);
  REQUIRE(rows.size() == packs.size() * 64 * width);
  std::size_t padding = 0, tokens = 0;
  for (auto const v : rows) padding += v == -1.0 ? 1 : 0;
  for (std::size_t p = 0; p < packs.size(); ++p)
    for (std::size_t i = 0; i < packs[p].size(); ++i)
      for (std::int64_t t = 0; t < lengths[packs[p][i]]; ++t, ++tokens)
        for (std::size_t w = 0; w < width; ++w)
          REQUIRE(rows[(p * 64 + static_cast<std::size_t>(ballast::cu_seqlens_of(cu, packs, p)[i] + t)) * width + w] ==
                  values[static_cast<std::size_t>(starts[packs[p][i]] + t) * width + w]);
  CHECK(padding == rows.size() - tokens * width);

  auto back = values;
  for (std::size_t i = 5 * width; i < static_cast<std::size_t>(starts.back()) * width; ++i) back[i] = 0;
  ballast::scatter_rows(packs, cu, starts, rows, std::span(back), shape);
  CHECK(back == values);  // what is no sample's is untouched
  auto const fresh = ballast::scatter_rows(packs, cu, starts, rows, shape);
  CHECK(std::vector(fresh.begin() + static_cast<std::ptrdiff_t>(5 * width), fresh.end()) ==
        std::vector(values.begin() + static_cast<std::ptrdiff_t>(5 * width), values.end() - static_cast<std::ptrdiff_t>(2 * width)));
}

TEST_CASE("gather_rows: bad input is named, and nothing is written") {
  ballast::groups<> const packs{{0, 2, 3}, {2, 0, 1}};
  std::vector<std::int32_t> const cu{0, 2, 5, 0, 4};
  std::vector<std::int64_t> const starts{0, 3, 7, 9};
  std::vector<std::int32_t> const values(9), all(10);
  std::vector<std::int32_t> out(10, -1), store(9, -1);
  auto const gather = [&](ballast::groups<> const& in, auto const& bounds, auto const& from, std::size_t row = 5, std::size_t width = 1) {
    return refusal([&] { return ballast::gather_rows(in, bounds, from, values, std::span(out), {row, width}), 0; });
  };
  using offsets = std::vector<std::int64_t>;
  CHECK(gather(packs, offsets{0, 2, 5, 0}, starts) == "gather_rows: cu_seqlens has 4 entries, 5 are read");
  CHECK(gather(packs, offsets{0, 2, 5, 1, 4}, starts) == "cu_seqlens must start with 0");
  CHECK(gather(packs, offsets{0, 2, 1, 0, 4}, starts) == "cu_seqlens[2] = 1 is below its predecessor 2");
  CHECK(gather(packs, cu, starts, 4) == "gather_rows: a row of 4 tokens is too short for sequences of 5");
  CHECK(gather(packs, offsets{0, 2, 5, 0, 3}, starts) == "gather_rows: sample 1 has 4 tokens but room for only 3 in pack 1");
  CHECK(gather({{0, 2, 3}, {2, 0, 3}}, cu, starts) == "gather_rows: pack 1 holds member 3, but there are 3 samples");
  CHECK(gather(packs, cu, offsets{}) == "gather_rows: starts needs an entry for each sample and one for the end");
  CHECK(gather(packs, cu, offsets{-1, 3, 7, 9}) == "starts[0] = -1 must not be negative");
  CHECK(gather(packs, cu, offsets{0, 3, 2, 9}) == "starts[2] = 2 is below its predecessor 3");
  CHECK(gather(packs, cu, offsets{0, 3, 7, 10}) == "gather_rows: starts ends at 10, but there are values of 9 tokens");
  CHECK(gather(packs, cu, starts, 5, 0) == "width = 0 must be positive");
  CHECK(gather(packs, cu, starts, 6) == "gather_rows: out has 10 elements, 12 are written");
  constexpr auto huge = (std::numeric_limits<std::size_t>::max)() / 2 + 1;  // two rows of that many tokens wrap to none
  auto const many = "2 x " + std::to_string(huge) + " tokens of width 1 are more than memory can hold";
  CHECK(gather(packs, cu, starts, huge) == "gather_rows: " + many);
  CHECK(refusal([&] { return ballast::gather_rows(packs, cu, starts, values, {huge}); }) == "gather_rows: " + many);
  CHECK(refusal([&] { return ballast::scatter_rows(packs, cu, starts, std::vector<std::int32_t>(), {huge}); }) == "scatter_rows: " + many);
  CHECK(out == std::vector<std::int32_t>(10, -1));
  CHECK(gather(packs, cu, starts) == "accepted");
  ballast::groups<> const twice{{0, 2, 3}, {0, 2, 0}};
  std::vector<std::int32_t> const wide{0, 3, 5, 0, 3};
  CHECK(gather(twice, wide, starts) == "accepted");  // reading a sample twice is no mistake, writing it is one
  CHECK(refusal([&] { return ballast::scatter_rows(twice, wide, starts, all, {5}); }) == "scatter_rows: sample 0 is a member twice");
  CHECK(refusal([&] { return ballast::scatter_rows(packs, cu, starts, values, {5}); }) == "scatter_rows: rows has 9 values, 10 are read");
  CHECK(refused_untouched(store, [&] { ballast::scatter_rows(twice, wide, starts, all, std::span(store), {5}); }));
}

}  // namespace test_layout_gather_rows
