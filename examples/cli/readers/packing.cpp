// SPDX-License-Identifier: Apache-2.0
#include "readers/packing.hpp"

#include "errors.hpp"
#include "readers/file_bytes.hpp"

#include <algorithm>
#include <charconv>

namespace ballast_cli {

namespace {

[[nodiscard]] bad_input not_an_index(std::string const& place, std::string_view shown) {
  return bad_input(place + ": " + printable(shown) + " is not an index: indices are whole numbers from 0");
}

}  // namespace

std::vector<std::uint64_t> read_indices(std::string_view bytes, std::string const& name) {
  if (!is_npy(bytes)) throw bad_input(name + ": is not a .npy file");
  npy_view const in(bytes, name);
  if (in.columns() != 1) throw bad_input(name + ": the array has two dimensions; offsets and members have one");
  std::vector<std::uint64_t> out(in.rows());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = in[i];
    if (in.is_negative(i)) throw not_an_index(name + ": entry " + std::to_string(i + 1), in.text(i));
  }
  return out;
}

ballast::groups<std::uint64_t> read_index_lists(std::string_view bytes, std::string const& name) {
  std::string unpacked;
  if (is_gzip(bytes)) bytes = unpacked = gunzip(bytes, name);
  constexpr std::string_view blanks = " \t\r\n";
  auto const first = (std::min)(bytes.find_first_not_of(blanks), bytes.size());
  auto const second = bytes.find_first_not_of(blanks, first + 1);
  auto const json = second != bytes.npos && bytes[first] == '[' && bytes[second] == '[';  // a list of packs, on one line or on many
  if (json && bytes[bytes.find_last_not_of(blanks)] != ']')
    throw bad_input(name + ": the list of packs does not end; is the file cut off?");
  std::string_view const between = json ? " \t\r\n,[" : " \t\r,";
  ballast::groups<std::uint64_t> packs;
  std::size_t line = 1;
  for (std::size_t at = 0; at < bytes.size(); ++line) {
    auto const stop = (std::min)(bytes.find(json ? ']' : '\n', at), bytes.size());
    auto text = bytes.substr(at, stop - at);
    at = stop + 1;
    if (json && text.find('[') == text.npos) continue;  // between two packs, or behind the last
    while (!text.empty() && between.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
    if (text.empty() && !json) continue;
    if (auto const open = text.find_first_not_of(between); !json && text[open] == '[' && text.back() == ']')
      text = text.substr(open + 1, text.size() - open - 2);
    for (auto from = text.find_first_not_of(between); from != std::string_view::npos; from = text.find_first_not_of(between, from)) {
      auto const word = text.substr(from, text.find_first_of(between, from) - from);
      std::uint64_t index = 0;
      auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
      if (error != std::errc{} || end != word.data() + word.size())
        throw not_an_index(name + (json ? ": list " : ":") + std::to_string(line), word);
      packs.members.push_back(index);
      from += word.size();
    }
    packs.offsets.push_back(packs.members.size());
  }
  return packs;
}

}  // namespace ballast_cli
