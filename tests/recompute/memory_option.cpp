// SPDX-License-Identifier: Apache-2.0
#include <ballast/recompute/memory_option.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace test_recompute_memory_option {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("option_classes: those with the same options in the same order are one, in order of first appearance") {
  std::array const two{memory_option{.memory = 10}, memory_option{.time = 5}}, turned{two[1], two[0]};
  option_classes items;
  items.add(two, 2);
  items.add(turned);
  items.add(two, 3);
  items.add(std::array{two[0]});
  auto const folded = fold(items);
  CHECK(folded.class_of == std::vector<std::uint32_t>{0, 1, 0, 2});
  CHECK(folded.classes.counts == std::vector<std::uint64_t>{5, 1, 1});
  CHECK((folded.classes[1].size() == 2 && folded.classes[1][0] == two[1] && folded.classes[2].size() == 1));
  CHECK(fold(folded.classes).classes == folded.classes);
  CHECK(fold({}).classes == option_classes{});
}

TEST_CASE("option_classes: what makes no sense is named") {
  option_classes items;
  items.add(std::array{memory_option{.memory = 10}});
  auto const of = [&](auto const& change) {
    auto wrong = items;
    change(wrong);
    return refusal([&] { return fold(wrong); });
  };
  CHECK(of([](option_classes& c) { c.options[0].time = -3; }) == "options[0].time = -3 must be in [0, 2^58]");
  CHECK(of([](option_classes& c) { c.counts[0] = 0; }) == "counts[0] = 0 must be in [1, 2^58]");
  CHECK(of([](option_classes& c) { c.counts[0] = std::uint64_t{1} << 57; }) == "class 0 brings the sum of memory above 2^58");
  CHECK(of([](option_classes& c) { c.add({}); }) == "class 1 has no options");
  CHECK(of([](option_classes& c) { c.counts.clear(); }) == "option_classes: 2 offsets do not cut 1 option into 0 classes");
}

}  // namespace test_recompute_memory_option
