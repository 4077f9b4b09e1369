// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace test_packing_check {

using ballast::check_packing;
using ballast::oversize;
using ballast::packing_fault;
using ballast::packing_options;
using ballast_test::refusal;

namespace {

using lengths = std::vector<std::int64_t>;
using packs = ballast::groups<std::uint32_t>;

/// What the validator says about bare groups.
std::string says(packs const& p, lengths const& l, packing_options const& o) { return describe(check_packing(p, l, o)); }

std::string const fine = "valid";

}  // namespace

TEST_CASE("check_packing: names the first rule that bare groups break, and where") {
  lengths const l{5, 3, 8, 2};
  packing_options const o{.capacity = 8};
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, l, o) == fine);
  CHECK(says({{0, 2, 3, 4}, {1, 0, 2, 3}}, l, o) == fine);
  CHECK(says({{0}, {}}, {}, o) == fine);
  CHECK(says({{}, {}}, {}, o) == fine);

  CHECK(says({{1, 2, 3, 4}, {0, 1, 2, 3}}, l, o) == "offsets[0] = 1: offsets must rise from 0 to 4");
  CHECK(says({{0, 3, 2, 4}, {0, 1, 2, 3}}, l, o) == "offsets[2] = 2: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 9, 4}, {0, 1, 2, 3}}, l, o) == "offsets[2] = 9: offsets must rise from 0 to 4");
  CHECK(says({{0, 2, 3}, {0, 1, 2, 3}}, l, o) == "offsets[2] = 3: offsets must rise from 0 to 4");
  CHECK(says({{}, {0}}, {5}, o) == "offsets[0] = 0: offsets must rise from 0 to 1");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 4}}, l, o) == "members[3] = 4 must be below 4");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 1}}, l, o) == "sample 1 occurs twice, the second time in pack 2");
  CHECK(says({{0, 2, 3}, {0, 1, 2}}, l, o) == "sample 3 is in no pack");
  CHECK(says({{0, 2, 2, 3, 4}, {0, 1, 2, 3}}, l, o) == "pack 1 is empty");
  CHECK(says({{0, 1, 3, 4}, {0, 1, 2, 3}}, l, o) == "pack 1 holds 11, more than its capacity 8");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, l, {.capacity = 8, .max_samples = 1}) == "pack 0 holds 2 samples, more than 1");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, l, {.capacity = 8, .pack_count = 4}) == "there are 3 packs, not 4");
  CHECK(says({{0, 2, 3, 4}, {0, 1, 2, 3}}, l, {.capacity = 8, .pack_count_multiple = 2}) ==
        "there are 3 packs, which is not a multiple of 2");
  CHECK(check_packing(packs{{0, 1, 3, 4}, {0, 1, 2, 3}}, l, o) == ballast::verdict{packing_fault::overfull_pack, 1, 11, 8});

  CHECK(refusal([&] { return check_packing(packs{}, l, {}); }) ==
        "capacity, sample_multiple, pack_multiple and pack_count_multiple must be positive");
  CHECK(refusal([&] { return check_packing(packs{}, lengths{3, 0}, o); }) == "lengths[1] = 0 must be in 1 ... 2^63 - 1");
  CHECK(refusal([&] { return check_packing(packs{}, lengths{3}, o, [](std::int64_t) { return -1; }); }) ==
        "lengths[0] = 3 has cost -1, which is not in 1 ... 2^63 - 1");
}

TEST_CASE("check_packing: counts padding, costs and numbers near 2^63 as they are") {
  CHECK(says({{0, 2}, {0, 1}}, {5, 3}, {.capacity = 12, .sample_multiple = 4}) == fine);
  CHECK(says({{0, 2}, {0, 1}}, {5, 5}, {.capacity = 12, .sample_multiple = 4}) == "pack 0 holds 16, more than its capacity 12");
  CHECK(says({{0, 1}, {0}}, {9}, {.capacity = 10, .sample_multiple = 4}) == "pack 0 holds 12, more than its capacity 10");
  CHECK(says({{0, 2}, {0, 1}}, {5, 4}, {.capacity = 11, .pack_multiple = 4}) == "pack 0 holds 9, more than its capacity 8");
  CHECK(describe(check_packing(packs{{0, 2}, {0, 1}}, lengths{2, 3}, {.capacity = 12}, [](std::int64_t l) { return l * l; })) ==
        "pack 0 holds 13, more than its capacity 12");
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(says({{0, 1}, {0}}, {most}, {.capacity = most}) == fine);
  CHECK(says({{0, 3}, {0, 1, 2}}, {most, most, most}, {.capacity = most}) ==
        "pack 0 holds 9223372036854775807 or more, more than its capacity 9223372036854775807");  // saturated, not wrapped around
  CHECK(says({{0, 1}, {0}}, {most}, {.capacity = most, .sample_multiple = most - 1}) ==
        "pack 0 holds 9223372036854775807 or more, more than its capacity 9223372036854775807");
}

TEST_CASE("check_packing: a sample that is too long stands where its policy says") {
  lengths const l{20, 3};
  auto const o = [](oversize policy) { return packing_options{.capacity = 8, .oversize = policy}; };
  packs const both{{0, 1, 2}, {0, 1}}, second{{0, 1}, {1}}, together{{0, 2}, {0, 1}};
  CHECK(says(both, l, o(oversize::reject)) == "pack 0 holds 20, more than its capacity 8");
  CHECK(says(second, l, o(oversize::reject)) == "sample 0 is in no pack");
  CHECK(says(second, l, o(oversize::set_aside)) == fine);
  CHECK(says(both, l, o(oversize::set_aside)) == "sample 0 of 20 is in a pack, but must be set aside: it exceeds 8");
  CHECK(says(both, l, o(oversize::truncate)) == fine);
  CHECK(says(together, l, o(oversize::truncate)) == "pack 0 holds 11, more than its capacity 8");
  CHECK(says(both, l, o(oversize::alone)) == fine);
  CHECK(says(together, l, o(oversize::alone)) == "pack 0 holds 23, more than its capacity 8");
  CHECK(says({{0, 2}, {1, 0}}, l, o(oversize::alone)) == "pack 0 holds 23, more than its capacity 8");
  CHECK(says(second, l, o(oversize::alone)) == "sample 0 is in no pack");
  CHECK(says({{0, 1, 2, 4}, {0, 2, 3, 1}}, l, o(oversize::split)) == fine);  // 8, 8 and 4 with 3
  CHECK(says(both, l, o(oversize::split)) == "sample 2 is in no pack");
  CHECK(says({{0, 1, 3}, {0, 2, 3}}, l, o(oversize::split)) == "pack 1 holds 12, more than its capacity 8");
}

TEST_CASE("check_packing: a whole result must also be true to its word") {
  lengths const l{20, 3, 9, 4};
  auto const verdict = [&](ballast::packing<> const& p, packing_options const& o) { return describe(check_packing(p, l, o)); };
  packing_options const aside{.capacity = 8, .oversize = oversize::set_aside}, split{.capacity = 8, .oversize = oversize::split};
  auto const changed = [](ballast::packing<> p, auto change) {
    change(p);
    return p;
  };
  auto const good = changed({}, [](auto& p) {
    p.packs = {{0, 2}, {1, 3}};
    p.count = {1, 1};
    p.tokens = 7;
    p.set_aside = {0, 2};
  });
  auto const cut = changed({}, [](auto& p) {
    p.packs = {{0, 1, 2, 3, 5, 7}, {0, 4, 2, 1, 5, 3, 6}};
    p.count = {5, 5};
    p.tokens = 36;
    p.pieces = {{0, 8, 8}, {0, 16, 4}, {2, 8, 1}};
  });
  CHECK(verdict(good, aside) == fine);
  CHECK(verdict(cut, split) == fine);
  CHECK(verdict(changed(good, [](auto& p) { p.set_aside = {0}; }), aside) ==
        "set_aside[1] is wrong: the list must name, ascending, the 2 samples that the policy leaves out");
  CHECK(verdict(changed(good, [](auto& p) { p.set_aside = {2, 0}; }), aside) ==
        "set_aside[0] is wrong: the list must name, ascending, the 2 samples that the policy leaves out");
  CHECK(verdict(good, {.capacity = 20}) ==
        "set_aside[0] is wrong: the list must name, ascending, the 0 samples that the policy leaves out");
  CHECK(verdict(changed(cut, [](auto& p) { p.pieces[1].length = 5; }), split) ==
        "pieces[1] is wrong: the list must hold the 3 later pieces of split samples, by sample, then offset");
  CHECK(verdict(changed(cut, [](auto& p) { p.pieces.pop_back(); }), split) ==
        "pieces[2] is wrong: the list must hold the 3 later pieces of split samples, by sample, then offset");
  CHECK(verdict(changed(good, [](auto& p) { p.packs = {{0, 1, 2}, {1, 3}}; }), aside) == "the value of the certificate is 1, not 2");
  CHECK(verdict(changed(good, [](auto& p) { p.tokens = 8; }), aside) == "tokens = 8, but the packs hold 7");
  CHECK(verdict(changed(good, [](auto& p) { p.count.lower_bound = 2; }), aside) ==
        "the lower bound 2 contradicts 1, the value or the limit");
  CHECK(verdict(changed(good, [](auto& p) { p.status = ballast::status::infeasible; }), aside) ==
        "the result says that there is no plan, but has 1 pack");
  CHECK(verdict(changed(good, [](auto& p) { p.status = ballast::status::unknown, p.packs.clear(); }), aside) == fine);
}

}  // namespace test_packing_check
