// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>
#include <ballast/chunks/chunk_retention.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_chunks_check_retention {

using ballast::chunk_pass;
using ballast::chunk_task;

namespace {

/// The pseudocode as it is printed: chunks from index K on are kept, the others are repeated in ascending order.
std::vector<chunk_task> as_printed(std::uint32_t chunks, std::uint32_t k) {
  if (chunks <= k) return ballast::retained_tasks(chunks, k);
  std::vector<chunk_task> out;
  for (std::uint32_t i = 0; i < chunks; ++i) out.push_back({i, i >= k ? chunk_pass::forward_keep : chunk_pass::forward_drop});
  for (auto i = chunks; i-- > k;) out.push_back({i, chunk_pass::backward});
  for (std::uint32_t i = 0; i < k; ++i) {
    out.push_back({i, chunk_pass::forward_again});
    out.push_back({i, chunk_pass::backward});
  }
  return out;
}

std::string says(std::vector<chunk_task> const& tasks, std::uint64_t chunks, std::uint64_t retained) {
  return describe(check_retention(tasks, chunks, retained));
}

}  // namespace

TEST_CASE("check_retention: the printed pseudocode holds other chunks than K, and repeats them in an order without gradients") {
  CHECK(says(as_printed(4, 1), 4, 1) == "task 2 holds the activations of 2 chunks, more than 1");
  CHECK(says(as_printed(4, 1), 4, 3) == "valid");  // it keeps N - K
  CHECK(says(as_printed(4, 2), 4, 2) == "task 6 is of chunk 0, but chunk 1 must run backward first");
  CHECK(says(as_printed(4, 3), 4, 3) == "task 5 is of chunk 0, but chunk 2 must run backward first");
  for (std::uint32_t n = 3; n <= 32; ++n)
    for (std::uint32_t k = 1; k < n; ++k) CHECK(says(as_printed(n, k), n, k) != "valid");
}

TEST_CASE("check_retention: names the first rule that is broken, and where") {
  using enum chunk_pass;
  CHECK(says({}, 0, 1) == "valid");
  CHECK(says({{0, forward_keep}, {0, backward}}, 1, 1) == "valid");
  CHECK(says({{1, forward_keep}}, 1, 1) == "task 0 is of chunk 1, which must be below 1");
  CHECK(says({{1, forward_keep}}, 2, 1) == "task 0 runs chunk 1 forward before chunk 0");
  CHECK(says({{0, forward_drop}, {0, forward_keep}}, 2, 1) == "task 1 runs chunk 0 forward, which has run or holds its activations");
  CHECK(says({{0, forward_keep}, {0, forward_again}}, 1, 2) == "task 1 runs chunk 0 forward, which has run or holds its activations");
  CHECK(says({{0, forward_keep}, {1, forward_keep}, {0, backward}}, 2, 2) == "task 2 is of chunk 0, but chunk 1 must run backward first");
  CHECK(says({{0, forward_drop}, {1, forward_keep}, {0, forward_again}}, 2, 2) ==
        "task 2 is of chunk 0, but chunk 1 must run backward first");
  CHECK(says({{0, forward_drop}, {0, backward}}, 1, 1) == "task 1 runs chunk 0 backward, which does not hold its activations");
  CHECK(says({{0, backward}}, 1, 1) == "task 0 runs chunk 0 backward, which does not hold its activations");
  CHECK(says({{0, forward_keep}, {0, backward}, {0, backward}}, 1, 1) == "task 2 is of chunk 0, but chunk 0 must run backward first");
  CHECK(says({{0, forward_keep}, {1, forward_keep}}, 2, 1) == "task 1 holds the activations of 2 chunks, more than 1");
  CHECK(says({{0, forward_keep}, {1, forward_keep}, {1, backward}}, 2, 2) == "chunk 0 does not run backward");
}

}  // namespace test_chunks_check_retention
