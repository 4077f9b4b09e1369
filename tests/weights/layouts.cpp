// SPDX-License-Identifier: Apache-2.0
#include <ballast/weights/layouts.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

namespace test_weights_layouts {

using namespace ballast;
using enum activation_layout;

TEST_CASE("change_layout: which collective, and how many bytes") {
  constexpr std::int64_t bytes = 1000, n = 8;
  auto const by = [&](activation_layout from, activation_layout to) { return change_layout(from, to, bytes, n); };
  for (auto const part : {sequence, batch, hidden}) {
    CHECK(by(replicated, part) == layout_change{});  // a device takes its part of what it has
    CHECK(by(part, replicated) == layout_change{.exchanges = true, .how = collective::all_gather, .bytes = bytes});
    CHECK(by(partial, part) == layout_change{.exchanges = true, .how = collective::reduce_scatter, .bytes = bytes});
    for (auto const other : {sequence, batch, hidden})
      CHECK(by(part, other) ==
            (part == other ? layout_change{} : layout_change{.exchanges = true, .how = collective::all_to_all, .bytes = bytes / n}));
    CHECK_FALSE(by(part, partial).legal);
  }
  CHECK(by(partial, replicated) == layout_change{.exchanges = true, .how = collective::all_reduce, .bytes = bytes});
  CHECK_FALSE(by(replicated, partial).legal);
  for (auto const l : {replicated, sequence, batch, hidden, partial}) CHECK(by(l, l) == layout_change{});
  CHECK(change_layout(partial, replicated, bytes, 1) == layout_change{});
}

TEST_CASE("change_layout: a sum and its gradient send as much whether sums are kept whole or in parts") {
  // An all-reduce is a reduce-scatter and an all-gather: sequence parallelism sends what tensor parallelism sends.
  for (std::int64_t const bytes : {8, 800, 8008}) {
    auto const sent = [&](activation_layout from, activation_layout to) {
      auto const c = change_layout(from, to, bytes, 8);
      return c.exchanges ? bytes_sent(c.how, c.bytes, {.ranks = 8}, 8).inside : 0;
    };
    CHECK(sent(partial, replicated) == sent(partial, sequence) + sent(sequence, replicated));
    CHECK(sent(hidden, batch) < sent(hidden, replicated));
  }
}

TEST_CASE("use_of: columns then rows need one sum in each direction; what is not legal") {
  auto const columns = use_of(weight_kind::matrix, weight_layout::columns, replicated),
             rows = use_of(weight_kind::matrix, weight_layout::rows, replicated);
  CHECK(columns == layout_use{true, replicated, partial, hidden});
  CHECK(rows == layout_use{true, hidden, hidden, partial});
  CHECK(columns.makes == rows.reads);  // nothing is exchanged between them, in either direction
  CHECK(rows.gradient == gradient_of(columns.makes));
  CHECK(use_of(weight_kind::embedding, weight_layout::vocabulary, replicated).makes == partial);
  CHECK(use_of(weight_kind::head, weight_layout::vocabulary, replicated) == columns);
  CHECK_FALSE(use_of(weight_kind::head, weight_layout::columns, replicated).legal);  // its columns are the vocabulary
  CHECK_FALSE(use_of(weight_kind::matrix, weight_layout::vocabulary, replicated).legal);
  CHECK_FALSE(use_of(weight_kind::matrix, weight_layout::replicated, hidden).legal);
  CHECK_FALSE(use_of(weight_kind::vector, weight_layout::rows, replicated).legal);
  CHECK_FALSE(use_of(weight_kind::experts, weight_layout::experts, replicated).legal);
  CHECK(use_of(weight_kind::experts, weight_layout::experts, batch) == layout_use{true, batch, batch, batch});
  std::string names;
  for (auto const l : {replicated, sequence, batch, hidden, partial}) names += std::string(to_string(l)) + " ";
  for (auto const l :
       {weight_layout::replicated, weight_layout::columns, weight_layout::rows, weight_layout::vocabulary, weight_layout::experts})
    names += std::string(to_string(l)) + " ";
  CHECK(names == "replicated sequence batch hidden partial replicated columns rows vocabulary experts ");
}

}  // namespace test_weights_layouts
