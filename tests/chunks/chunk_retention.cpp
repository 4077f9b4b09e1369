// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>
#include <ballast/chunks/chunk_retention.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_chunks_chunk_retention {

using ballast::chunk_bytes;
using ballast::chunk_pass;
using ballast::chunk_task;
using ballast::retained_peak;
using ballast::retained_tasks;
using ballast_test::refusal;

namespace {

/// Allocates and frees what the tasks hold, buffer by buffer.
class replay {
 public:
  std::int64_t peak = 0;
  std::int64_t left = 0;  ///< bytes at the end
  replay(std::vector<chunk_task> const& tasks, std::vector<std::int64_t> const& tokens, chunk_bytes const& bytes) {
    bool gradients = false;
    for (auto const& t : tasks) {
      auto const n = tokens[t.chunk];
      if (t.pass == chunk_pass::forward_keep || t.pass == chunk_pass::forward_again) take(n * bytes.activations);
      if (t.pass == chunk_pass::forward_keep || t.pass == chunk_pass::forward_drop) take(n * bytes.keys_values);
      if (t.pass != chunk_pass::backward) continue;
      if (!gradients)
        for (auto const of_chunk : tokens) take(of_chunk * bytes.key_gradients);
      gradients = true;
      take(-n * (bytes.activations + bytes.keys_values + bytes.key_gradients));
    }
  }

 private:
  void take(std::int64_t bytes) {
    left += bytes;
    peak = (std::max)(peak, left);
  }
};

std::string says(std::vector<chunk_task> const& tasks, std::uint64_t chunks, std::uint64_t retained) {
  return describe(check_retention(tasks, chunks, retained));
}

}  // namespace

TEST_CASE("retained_tasks: valid, N - K forwards repeated, and the peak is K chunks and the keys and values of the sample", "[property]") {
  chunk_bytes const bytes{.activations = 1000, .keys_values = 10, .key_gradients = 3};
  for (std::uint32_t n = 1; n <= 32; ++n)
    for (std::uint32_t k = 1; k <= n; ++k) {
      auto const tasks = retained_tasks(n, k);
      CAPTURE(n, k);
      CHECK(says(tasks, n, k) == "valid");
      CHECK(tasks.size() == 2 * n + (n - k));
      CHECK(std::count_if(tasks.begin(), tasks.end(), [](auto const& t) { return t.pass == chunk_pass::forward_again; }) == n - k);
      std::vector<std::int64_t> const tokens(n, 7);
      replay const run(tasks, tokens, bytes);
      CHECK(run.peak == 7 * (k * 1000 + n * 13));
      CHECK(run.peak == retained_peak(tokens, k, bytes));
      CHECK(run.left == 0);
    }
  CHECK(retained_tasks(3, 9) == retained_tasks(3, 3));
}

TEST_CASE("retained_peak: equals what is held by chunks of any size", "[property]") {
  ballast::splitmix64 draw(4);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(ballast_test::between(1, 12, draw)));
    for (auto& t : tokens) t = ballast_test::between(0, 50, draw);
    auto const k = static_cast<std::uint64_t>(ballast_test::between(1, 14, draw));
    chunk_bytes const bytes{ballast_test::between(0, 30, draw), ballast_test::between(0, 30, draw), ballast_test::between(0, 30, draw)};
    CAPTURE(round, tokens, k);
    CHECK(replay(retained_tasks(tokens.size(), k), tokens, bytes).peak == retained_peak(tokens, k, bytes));
  }
}

TEST_CASE("retained_tasks, retained_peak: refuse misuse") {
  CHECK(refusal([] { return retained_tasks(0, 1); }) == "chunks = 0 must be in [1, 2^32)");
  CHECK(refusal([] { return retained_tasks(3, 0); }) == "retained = 0 must be positive: the last chunk of a chain runs backward at once");
  std::vector<std::int64_t> const tokens{3, -1}, large{std::int64_t{1} << 40};
  CHECK(refusal([&] { return retained_peak(tokens, 1, {}); }) ==
        "the bytes of a chain must not be negative, and their sum must be below 2^63");
  CHECK(refusal([&] { return retained_peak(large, 1, {.activations = std::int64_t{1} << 40}); }) ==
        "the bytes of a chain must not be negative, and their sum must be below 2^63");
  CHECK(refusal([&] { return retained_peak(large, 0, {}); }) ==
        "retained = 0 must be positive: the last chunk of a chain runs backward at once");
  CHECK(retained_peak({}, 1, {.activations = 5}) == 0);
}

}  // namespace test_chunks_chunk_retention
