// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace test_packing_vector_check {

using ballast::check_packing;
using ballast::oversize;
using ballast::vector_packing_options;
using ballast_test::refusal;

namespace {

using packs = ballast::groups<std::uint32_t>;

std::vector<std::int64_t> const tiles{5, 3, 1, 4}, tokens{100, 700, 800, 200};
ballast::sample_measures const samples{tiles, tokens};

std::string says(packs const& p, vector_packing_options const& o) { return describe(check_packing(p, samples, o)); }

std::string const fine = "valid";

}  // namespace

TEST_CASE("check_packing of several measures: names the first rule that bare groups break, and where") {
  vector_packing_options const o{.capacity = {9, 1000}};
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, o) == fine);
  CHECK(says({{0, 2, 4}, {0, 1, 3, 2}}, o) == fine);
  CHECK(describe(check_packing(packs{}, ballast::sample_measures{std::vector<std::int64_t>{}}, {.capacity = {1}})) == fine);

  CHECK(says({{1, 2, 3, 4}, {0, 1, 2, 3}}, o) == "offsets[0] = 1: offsets must rise from 0 to 4");
  CHECK(says({{0, 3, 2, 4}, {0, 1, 2, 3}}, o) == "offsets[2] = 2: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 9, 4}, {0, 1, 2, 3}}, o) == "offsets[2] = 9: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 3}, {0, 1, 2, 3}}, o) == "offsets[2] = 3: offsets must rise from 0 to 4");
  CHECK(says({{}, {0}}, o) == "offsets[0] = 0: offsets must rise from 0 to 1");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 4}}, o) == "members[3] = 4 must be below 4");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 1}}, o) == "sample 1 occurs twice, the second time in pack 2");
  CHECK(says({{0, 2, 3}, {0, 1, 2}}, o) == "sample 3 is in no pack");
  CHECK(says({{0, 2, 2, 3, 4}, {0, 1, 2, 3}}, o) == "pack 1 is empty");
  CHECK(says({{0, 1, 4}, {2, 0, 1, 3}}, o) == "pack 1 holds 12, more than its capacity 9");       // tiles
  CHECK(says({{0, 2, 4}, {1, 2, 0, 3}}, o) == "pack 0 holds 1500, more than its capacity 1000");  // tokens
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, {.capacity = {9, 1000}, .max_samples = 1}) == "pack 0 holds 2 samples, more than 1");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, {.capacity = {9, 1000}, .pack_count_multiple = 2}) ==
        "there are 3 packs, which is not a multiple of 2");
}

TEST_CASE("check_packing of several measures: refuses what cannot be asked") {
  CHECK(refusal([] { return check_packing(packs{}, samples, {.capacity = {9}}); }) == "2 measures need as many capacities, not 1");
  CHECK(refusal([] { return check_packing(packs{}, samples, {.capacity = {9, 0}}); }) ==
        "every capacity and pack_count_multiple must be positive");
  std::vector<std::int64_t> const bad{1, -2};
  CHECK(refusal([&] { return check_packing(packs{}, ballast::sample_measures{bad}, {.capacity = {9}}); }) ==
        "measures[0][1] = -2 must not be negative");
}

TEST_CASE("check_packing of several measures: a load near 2^64 is no small one") {
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> const huge{most, most, most};
  CHECK(describe(check_packing(packs{{0, 3}, {0, 1, 2}}, ballast::sample_measures{huge}, {.capacity = {most}})) ==
        "pack 0 holds 9223372036854775807 or more, more than its capacity 9223372036854775807");
}

TEST_CASE("check_packing of several measures: a sample above a capacity stands where its policy says") {
  auto const o = [](oversize policy) { return vector_packing_options{.capacity = {4, 750}, .oversize = policy}; };  // 0 and 2 are above
  packs const all{{0, 1, 2, 3, 4}, {0, 1, 2, 3}}, rest{{0, 1, 2}, {1, 3}}, together{{0, 2, 3, 4}, {0, 2, 1, 3}};
  CHECK(says(all, o(oversize::reject)) == "pack 0 holds 5, more than its capacity 4");
  CHECK(says(rest, o(oversize::set_aside)) == fine);
  CHECK(says(all, o(oversize::set_aside)) == "sample 0 of 5 is in a pack, but must be set aside: it exceeds 4");
  CHECK(says({{0, 1, 2, 3}, {1, 2, 3}}, o(oversize::set_aside)) == "sample 2 of 800 is in a pack, but must be set aside: it exceeds 750");
  CHECK(says(all, o(oversize::alone)) == fine);
  CHECK(says(rest, o(oversize::alone)) == "sample 0 is in no pack");
  CHECK(says(together, o(oversize::alone)) == "pack 0 holds 6, more than its capacity 4");
}

TEST_CASE("check_packing of several measures: a whole result must also be true to its word") {
  vector_packing_options const o{.capacity = {4, 1000}, .oversize = oversize::set_aside};
  auto const says_of = [&](auto change) {
    ballast::vector_packing<> p;
    p.packs = {{0, 1, 2, 3}, {1, 2, 3}};
    p.count = {3, 2};
    p.totals = {8, 1700};
    p.set_aside = {0};
    change(p);
    return describe(check_packing(p, samples, o));
  };
  CHECK(says_of([](auto&) {}) == fine);
  std::string const list = " is wrong: the list must name, ascending, the 1 sample that the policy leaves out";
  CHECK(says_of([](auto& p) { p.set_aside = {}; }) == "set_aside[0]" + list);
  CHECK(says_of([](auto& p) { p.set_aside = {1}; }) == "set_aside[0]" + list);
  CHECK(says_of([](auto& p) { p.set_aside = {0, 1}; }) == "set_aside[1]" + list);
  CHECK(says_of([](auto& p) { p.packs = {{0, 1, 3}, {1, 2, 2}}; }) == "sample 2 occurs twice, the second time in pack 1");
  CHECK(says_of([](auto& p) { p.totals = {8, 1701}; }) == "tokens = 1701, but the packs hold 1700");
  CHECK(says_of([](auto& p) { p.totals = {8}; }) == "tokens = 0, but the packs hold 1700");
  CHECK(says_of([](auto& p) { p.count.value = 2; }) == "the value of the certificate is 2, not 3");
  CHECK(says_of([](auto& p) { p.count.lower_bound = 4; }) == "the lower bound 4 contradicts 3, the value or the limit");
  CHECK(says_of([](auto& p) { p.status = ballast::status::infeasible; }) == "the result says that there is no plan, but has 3 packs");
  CHECK(says_of([](auto& p) { p.status = ballast::status::infeasible, p.packs.clear(); }) == fine);
}

}  // namespace test_packing_vector_check
