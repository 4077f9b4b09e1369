// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>

// Megatron's index behind its magic and version. Its sequences and its documents, if both are read, have the same tokens.

namespace {

using namespace ballast_cli;

std::optional<std::int64_t> tokens_of(std::string const& bytes, char const* column, bool skip_zeros) {
  table rows(1);
  try {
    append_lengths(rows, bytes, "input", {.measures = {{column}}, .fields = {}, .histogram = false, .skip_zeros = skip_zeros});
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
    return std::nullopt;
  }
  for (auto const length : rows.values())
    if (length < 1) std::abort();
  return std::accumulate(rows.values().begin(), rows.values().end(), std::int64_t{0});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const bytes = std::string("MMIDIDX\0\0\1\0\0\0\0\0\0\0", 17) + std::string(reinterpret_cast<char const*>(data), size);
  for (auto const skip : {false, true}) {
    auto const sequences = tokens_of(bytes, "sequences", skip), documents = tokens_of(bytes, "documents", skip);
    if (sequences && documents && *sequences != *documents) std::abort();
  }
  return 0;
}
