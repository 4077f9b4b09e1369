// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_chunks_check {

namespace {

std::vector<std::int64_t> const lengths{5, 20, 3};

/// Samples 0 and 2 in chunk 0, sample 1 in chunks 1 to 3.
ballast::chunking<> valid() {
  ballast::chunking<> plan;
  plan.ranges = {{0, 0, 5}, {2, 0, 3}, {1, 0, 8}, {1, 8, 16}, {1, 16, 20}};
  plan.offsets = {0, 2, 3, 4, 5};
  plan.chains = {{0, 1, 4}, {0, 1, 2, 3}};
  plan.count = {4, 4};
  return plan;
}

/// What the validator says about the valid chunks after a change.
template <class Change>
std::string after(Change&& change) {
  auto plan = valid();
  change(plan);
  return describe(check_chunks(plan, lengths, {.size = 8}));
}

}  // namespace

TEST_CASE("check_chunks: accepts what is valid, in any order of chunks and chains") {
  CHECK(after([](auto&) {}) == "valid");
  CHECK(after([](auto& p) { p.chains = {{0, 3, 4}, {1, 2, 3, 0}}; }) == "valid");
  CHECK(after([](auto& p) {
          p.ranges = {{1, 16, 20}, {2, 0, 3}, {1, 8, 16}, {0, 0, 5}, {1, 0, 8}};
          p.offsets = {0, 1, 2, 3, 4, 5};
          p.chains = {{0, 1, 4, 5}, {3, 4, 2, 0, 1}};
          p.count = {5, 4};
        }) == "valid");
  CHECK(describe(check_chunks(ballast::chunking<>{}, std::vector<int>{}, {.size = 8})) == "valid");
  ballast::chunking<> bare;
  bare.offsets.clear();
  bare.chains.offsets.clear();
  CHECK(describe(check_chunks(bare, std::vector<int>{}, {.size = 8})) == "valid");
}

TEST_CASE("check_chunks: names the first rule that is broken, and where") {
  CHECK(after([](auto& p) { p.offsets[0] = 1; }) == "offsets[0] = 1: offsets must rise from 0 to 5");
  CHECK(after([](auto& p) { p.offsets[2] = 1; }) == "offsets[2] = 1: offsets must rise from 0 to 5");
  CHECK(after([](auto& p) { p.offsets[4] = 6; }) == "offsets[4] = 6: offsets must rise from 0 to 5");
  CHECK(after([](auto& p) { p.offsets.pop_back(); }) == "offsets[3] = 4: offsets must rise from 0 to 5");
  CHECK(after([](auto& p) { p.offsets.clear(); }) == "offsets[0] = 0: offsets must rise from 0 to 5");
  CHECK(after([](auto& p) { p.offsets[2] = 2; }) == "chunk 1 is empty");
  CHECK(after([](auto& p) { p.ranges[1].sample = 3; }) == "ranges[1] is of sample 3, which must be below 3");
  CHECK(after([](auto& p) { p.ranges[4].end = 21; }) == "ranges[4] ends at 21: it must hold a token and be inside its sample of 20 tokens");
  CHECK(after([](auto& p) { p.ranges[4].end = 16; }) == "ranges[4] ends at 16: it must hold a token and be inside its sample of 20 tokens");
  CHECK(after([](auto& p) { p.ranges[2].begin = -1; }) ==
        "ranges[2] ends at 8: it must hold a token and be inside its sample of 20 tokens");
  CHECK(after([](auto& p) { p.ranges[1].end = 2; }) == "chunk 0 holds a part of sample 2 beside another range");
  CHECK(after([](auto& p) { p.ranges[2].end = 9; }) == "chunk 1 holds 9 tokens, more than 8");
  CHECK(describe(check_chunks(valid(), lengths, {.size = 7})) == "chunk 0 holds 8 tokens, more than 7");
  CHECK(after([](auto& p) { p.chains.offsets = {0, 1, 1, 4}; }) ==
        "chains.offsets[2] = 1: no chain may be empty, and offsets must rise from 0 to 4");
  CHECK(after([](auto& p) { p.chains.offsets = {0, 1}; }) ==
        "chains.offsets[1] = 1: no chain may be empty, and offsets must rise from 0 to 4");
  CHECK(after([](auto& p) { p.chains.offsets.clear(); }) ==
        "chains.offsets[0] = 0: no chain may be empty, and offsets must rise from 0 to 4");
  CHECK(after([](auto& p) { p.chains.members[2] = 4; }) == "chains.members[2] = 4 must be below 4");
  CHECK(after([](auto& p) { p.chains.members[3] = 1; }) == "chunk 1 occurs twice, the second time in chain 1");
  CHECK(after([](auto& p) { p.chains = {{0, 1, 3}, {0, 1, 2}}; }) == "chunk 3 is in no chain");
  CHECK(after([](auto& p) { p.chains = {{0, 4}, {1, 2, 3, 0}}; }) == "chain 0 holds sample 0 beside sample 1");
  CHECK(after([](auto& p) { p.chains = {{0, 1, 3, 4}, {0, 1, 2, 3}}; }) == "sample 1 is in chain 2 and in chain 1");
  CHECK(after([](auto& p) { p.ranges[3].begin = 7; }) == "chunk 2 holds 9 tokens, more than 8");
  CHECK(after([](auto& p) { p.ranges[3] = {1, 7, 15}; }) == "sample 1: token 7 is in two ranges");
  CHECK(after([](auto& p) { p.chains.members = {0, 2, 1, 3}; }) ==
        "sample 1: a chunk begins at token 8, but its predecessor in the chain ends at 0");
  CHECK(after([](auto& p) { p.ranges[4].begin = 17; }) ==
        "sample 1: a chunk begins at token 17, but its predecessor in the chain ends at 16");
  CHECK(after([](auto& p) { p.ranges[4].end = 19; }) == "sample 1: token 19 is in no range");
  CHECK(after([](auto& p) { p.ranges[1] = {0, 0, 5}; }) == "chunk 0 holds 10 tokens, more than 8");
  CHECK(after([](auto& p) {
          p.ranges.erase(p.ranges.begin() + 1);
          p.offsets = {0, 1, 2, 3, 4};
        }) == "sample 2: token 0 is in no range");
  CHECK(after([](auto& p) { p.count.value = 5; }) == "the value of the certificate is 5, not 4");
  CHECK(after([](auto& p) { p.count.lower_bound = 5; }) == "the lower bound 5 contradicts 4, the value or the limit");
}

}  // namespace test_chunks_check
