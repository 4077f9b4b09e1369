// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"
#include "fuzz/json_lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

// Every reader of lengths, from memory. The first byte chooses what is asked, and whether the rest is a file or decides how JSON is
// written; the file must end in valid rows, those of a plain parser where it is JSON, or in one sentence.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace ballast_cli;
  if (size == 0) return 0;
  auto const& select = fuzz::asked_of(data[0] & 0x7f);
  auto const text = data[0] < 0x80 ? std::string(reinterpret_cast<char const*>(data + 1), size - 1)
                                   : fuzz::json_writer({data + 1, size - 1}).document(select);
  table rows(select.asked() + (select.histogram ? 1 : 0), select.histogram);
  auto refused = false;
  try {
    append_lengths(rows, text, "input", select);
  } catch (bad_input const& e) {
    refused = true;
    if (std::string(e.what()).find('\n') != std::string::npos) std::abort();
  }
  if (auto const why = fuzz::difference(text, select, refused ? nullptr : &rows); !why.empty()) {
    (void)std::fprintf(stderr, "%s:\n%s\n", why.c_str(), text.c_str());
    std::abort();
  }
  if (refused) return 0;
  auto const& v = rows.values();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] < (rows.kind(i % rows.measures()) == value_kind::length ? 1 : 0)) std::abort();
  for (std::size_t row = 0; row < rows.rows(); ++row)
    if (!rows.where(row).starts_with("input:")) std::abort();
  return 0;
}
