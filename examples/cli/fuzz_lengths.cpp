// SPDX-License-Identifier: Apache-2.0
#include "lengths_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

// Every reader of lengths, from memory. The first byte chooses what is asked; whatever follows must end in valid rows or in one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  selection const asked[] = {
      {},
      {.measures = {}, .field = "n", .histogram = false},
      {.measures = {{"1", "length"}}, .field = {}, .histogram = false},
      {.measures = {}, .field = {}, .histogram = true},
  };
  auto const& select = asked[data[0] % 4];
  table rows(select.histogram ? 2 : 1);
  try {
    append_lengths(rows, {reinterpret_cast<char const*>(data + 1), size - 1}, "input", select);
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
    return 0;
  }
  auto const& v = rows.values();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] < (i % rows.measures() == 0 ? 1 : 0)) std::abort();
  for (std::size_t row = 0; row < rows.rows(); ++row)
    if (!rows.where(row).starts_with("input:")) std::abort();
  return 0;
}
