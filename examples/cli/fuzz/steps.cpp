// SPDX-License-Identifier: Apache-2.0
#include "readers/steps.hpp"
#include "errors.hpp"

#include <ballast/batching/check.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

// The reader of foreign steps, from lines and from arrays, and the validator behind it: what is read has as many places as it says.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  std::string_view const text{reinterpret_cast<char const*>(data), size};
  std::vector<std::int64_t> const lengths{5, 3, 8, 1};
  auto const half = text.substr(0, size / 2), rest = text.substr(size / 2);
  for (auto const arrays : {false, true}) try {
      auto const steps = arrays ? read_steps({half, half, rest, "offsets", "members", "steps"}) : read_steps(text, "input");
      if (steps.table.empty() || steps.table.size() % (steps.ranks * steps.micro_batches) != 0) std::abort();
      auto const verdict = check_batching(steps, lengths, {.capacity = 10, .ranks = steps.ranks}, ballast::token_cost{});
      (void)describe(verdict);
      (void)place_in_words(steps, steps.table.size() - 1);
    } catch (bad_input const& e) {
      if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
    }
  return 0;
}
