// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

// Every reader of lengths, from memory. The first byte chooses what is asked; whatever follows must end in valid rows or in one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  selection const asked[] = {
      {},
      {.measures = {}, .fields = {{"n"}}},
      {.measures = {{"1", "length"}}, .fields = {}},
      {.measures = {}, .fields = {}, .histogram = true},
      {.measures = {{"2"}, {"1"}}, .fields = {}},
      {.measures = {}, .fields = {{"n", "a.b"}, {"c"}}, .histogram = false, .skip_zeros = true},
  };
  auto const& select = asked[data[0] % std::size(asked)];
  table rows(select.asked() + (select.histogram ? 1 : 0), select.histogram);
  try {
    append_lengths(rows, {reinterpret_cast<char const*>(data + 1), size - 1}, "input", select);
  } catch (bad_input const& e) {
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
    return 0;
  }
  auto const& v = rows.values();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] < (rows.kind(i % rows.measures()) == value_kind::length ? 1 : 0)) std::abort();
  for (std::size_t row = 0; row < rows.rows(); ++row)
    if (!rows.where(row).starts_with("input:")) std::abort();
  return 0;
}
