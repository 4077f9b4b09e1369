// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/check_padded.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_packing_check_padded {

using namespace ballast_test;
using namespace ballast;

TEST_CASE("check_padded: every broken rule is found, and what padded rows cannot have is refused") {
  std::vector<int> const lengths{5, 4, 4, 9};
  packing_options const o{.capacity = 10, .max_samples = 2};
  auto const found = [&](groups<> const& batches, packing_options const& by) { return describe(check_padded(batches, lengths, by)); };
  auto const of = [](std::vector<std::vector<std::uint32_t>> const& lists) {
    groups<> out;
    for (auto const& list : lists) out.push_back(list);
    return out;
  };
  CHECK(check_padded(of({{0, 1}, {2}, {3}}), lengths, o).valid());
  CHECK(found(of({{0, 1}, {2, 3}}), o) == "pack 1 holds 13, more than its capacity 10");
  CHECK(found(of({{0, 1}, {2}, {3}}), {.capacity = 9}) == "pack 0 holds 10, more than its capacity 9");
  CHECK(found(of({{0, 1}, {2}, {3}}), {.capacity = 15, .sample_multiple = 8}) == "pack 0 holds 16, more than its capacity 15");
  CHECK(found(of({{0}, {2}, {3}}), o) == "sample 1 is in no pack");
  CHECK(found(of({{0, 1}, {1, 2}, {3}}), o) == "sample 1 occurs twice, the second time in pack 1");
  CHECK(found(of({{1, 2}, {0}, {3}}), {.capacity = 10, .max_samples = 1}) == "pack 0 holds 2 samples, more than 1");
  for (auto const policy : {oversize::split, oversize::alone})
    CHECK(refusal([&] { return check_padded(groups<>{}, lengths, {.capacity = 10, .oversize = policy}); }) ==
          "oversize: a padded row can be rejected, set aside or truncated");
}

}  // namespace test_packing_check_padded
