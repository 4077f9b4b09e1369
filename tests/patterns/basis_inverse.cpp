// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/patterns/detail/basis_inverse.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_patterns_basis_inverse {

namespace {

using ballast::detail::basis_inverse;
using ballast::detail::pivot_order;
using ballast_test::between;

using columns_of_rows = std::vector<std::vector<std::uint32_t>>;

/// Columns of one to `most` different rows of `rows`.
columns_of_rows draw_columns(std::size_t columns, std::size_t rows, std::int64_t most, ballast::splitmix64& draw) {
  columns_of_rows out(columns);
  for (auto& column : out) {
    for (auto k = between(1, most, draw); k > 0; --k)
      column.push_back(static_cast<std::uint32_t>(between(0, static_cast<std::int64_t>(rows) - 1, draw)));
    std::sort(column.begin(), column.end());
    column.erase(std::unique(column.begin(), column.end()), column.end());
  }
  return out;
}

bool has(std::vector<std::uint32_t> const& column, std::uint32_t row) {
  return std::find(column.begin(), column.end(), row) != column.end();
}

pivot_order ordered(std::size_t rows, columns_of_rows const& rows_of) {
  pivot_order out;
  out.clear();
  for (auto const& column : rows_of) {
    for (auto const i : column) out.add(i);
    out.end_column();
  }
  out.set(rows);
  return out;
}

/// The largest difference of two vectors.
double gap(std::vector<double> const& a, std::vector<double> const& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = (std::max)(out, a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]);
  return out;
}

}  // namespace

TEST_CASE("pivot_order: columns with a single row and rows with a single column come first", "[patterns][property]") {
  std::size_t singles = 0, middle = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const rows = static_cast<std::size_t>(between(1, 40, draw));
    auto const rows_of = draw_columns(static_cast<std::size_t>(between(0, 40, draw)), rows, between(1, 4, draw), draw);
    auto const order = ordered(rows, rows_of);
    CAPTURE(seed);
    std::vector<char> free(rows, 1), waits(rows_of.size(), 1);
    for (auto const& [c, r] : order.singles()) {
      auto const left = std::count_if(rows_of[c].begin(), rows_of[c].end(), [&](auto i) { return free[i] != 0; });
      std::size_t columns = 0;
      for (std::size_t d = 0; d < rows_of.size(); ++d) columns += waits[d] != 0 && has(rows_of[d], r) ? 1U : 0U;
      REQUIRE((has(rows_of[c], r) && free[r] != 0 && waits[c] != 0 && (left == 1 || columns == 1)));
      free[r] = waits[c] = 0;
    }
    std::vector<std::size_t> columns(rows, 0);
    for (auto const c : order.middle()) {
      REQUIRE(std::exchange(waits[c], 0) != 0);
      for (auto const i : rows_of[c]) ++columns[i];
    }
    for (std::size_t i = 0; i < rows; ++i) {
      REQUIRE(order.free(i) == (free[i] != 0));
      if (free[i] != 0) REQUIRE((columns[i] == order.columns(i) && columns[i] != 1));
    }
    for (std::size_t c = 0; c < rows_of.size(); ++c)  // what is left out has no row left
      REQUIRE((waits[c] == 0 || std::none_of(rows_of[c].begin(), rows_of[c].end(), [&](auto i) { return free[i] != 0; })));
    singles += order.singles().size();
    middle += order.middle().size();
  }
  CHECK(singles > 1000);
  CHECK(middle > 20);
}

TEST_CASE("basis_inverse: products with the inverse solve the equations of the columns", "[patterns][property]") {
  std::size_t factored = 0, pivoted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const rows = static_cast<std::size_t>(between(1, 60, draw));
    basis_inverse inverse(rows);
    inverse.clear();
    std::vector<std::vector<double>> basis(rows, std::vector<double>(rows));  // its columns
    std::vector<char> kept(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      auto const sign = seed % 2 == 0 || between(0, 1, draw) == 0 ? -1.0 : 1.0;
      inverse.set_sign(i, sign);
      basis[i][i] = sign;
      kept[i] = seed % 2 != 0 || between(0, 3, draw) == 0;  // as restart does, or some rows as install does
      if (kept[i] != 0) inverse.keep(i);
    }
    auto const take = [&](std::vector<double> const& entries, auto const& multiply, auto const& enter, double least) {
      auto v = entries;
      multiply(v);
      std::size_t r = 0;
      for (std::size_t i = 0; i < rows; ++i)
        if (kept[i] == 0 && (kept[r] != 0 || v[i] > v[r])) r = i;
      if (kept[r] != 0 || v[r] < least) return std::size_t{0};
      enter(r, v);
      basis[r] = entries;
      return r + 1;
    };
    auto const columns = draw_columns(4 * rows, rows, 4, draw);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::vector<double> entries(rows);
      for (auto const i : columns[c]) entries[i] = static_cast<double>(between(1, 3, draw));
      if (c == rows) std::fill(kept.begin(), kept.end(), 0);
      if (c < rows) {
        auto const r = take(entries, [&](auto& v) { inverse.reduce(v); }, [&](auto i, auto const& v) { inverse.factor(i, v); }, 0.25);
        if (r != 0) kept[r - 1] = 1;
        factored += r != 0 ? 1U : 0U;
      } else
        pivoted +=
            take(entries, [&](auto& v) { inverse.multiply(v); }, [&](auto i, auto const& v) { inverse.pivot(i, v); }, 0.25) != 0 ? 1U : 0U;
    }
    CAPTURE(seed, rows);
    std::vector<double> wanted(rows);
    for (auto& w : wanted) w = static_cast<double>(between(-9, 9, draw));
    auto x = wanted, y = wanted;
    inverse.multiply(x);
    inverse.multiply_from_left(y);
    std::vector<double> from_x(rows), from_y(rows);
    for (std::size_t j = 0; j < rows; ++j)
      for (std::size_t i = 0; i < rows; ++i) {
        from_x[i] += basis[j][i] * x[j];
        from_y[j] += basis[j][i] * y[i];
      }
    REQUIRE(gap(from_x, wanted) < 1e-6);
    REQUIRE(gap(from_y, wanted) < 1e-6);
  }
  CHECK((factored > 1000 && pivoted > 1000));
}

}  // namespace test_patterns_basis_inverse
