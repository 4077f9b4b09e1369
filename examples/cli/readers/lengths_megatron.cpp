// SPDX-License-Identifier: Apache-2.0
#include "readers/lengths.hpp"

#include <iterator>

// Megatron's index of a data set (.idx): behind a header of 34 bytes the tokens of each sequence (int32), where each begins in the .bin
// file (int64, in bytes), the first sequence of each document and the end of the last (int64), and of multimodal data a mode of each
// sequence (int8). All are little-endian, and none is aligned.

namespace ballast_cli {

namespace {

constexpr std::size_t index_header_size = 34;
constexpr std::int64_t token_bytes[] = {1, 1, 2, 4, 8, 8, 4, 2};  // by the code of the token's type, from 1

template <class Integer>
[[nodiscard]] Integer little_endian(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t value = 0;
  for (std::size_t b = 0; b < sizeof(Integer); ++b) value |= std::uint64_t{static_cast<unsigned char>(bytes[at + b])} << (8 * b);
  return static_cast<Integer>(value);
}

/// The three arrays behind the header.
struct megatron_index {
  std::string_view lengths, pointers, documents;
  std::size_t sequences = 0, entries = 0;  ///< entries of `documents`, one more than there are documents
  std::int64_t item = 1;                   ///< bytes of a token

  megatron_index(std::string_view bytes, std::string const& name) {
    auto const refuse = [&](std::string const& why) { throw bad_input(name + ": " + why); };
    if (bytes.size() < index_header_size) refuse("the header of Megatron's index ends early, the file is truncated");
    if (auto const version = little_endian<std::uint64_t>(bytes, 9); version != 1)
      refuse("is of version " + std::to_string(version) + " of Megatron's index, and version 1 is read");
    auto const code = little_endian<std::uint8_t>(bytes, 17);
    if (code < 1 || code > std::size(token_bytes))
      refuse("names token type " + std::to_string(code) + ", and those of Megatron are 1 to 8; the file is damaged");
    item = token_bytes[code - 1];
    auto const said = little_endian<std::uint64_t>(bytes, 18), ends = little_endian<std::uint64_t>(bytes, 26);
    auto const data = bytes.substr(index_header_size);
    auto const announced = "the header announces " + std::to_string(said) + " sequences and " + std::to_string(ends) +
                           " ends of documents, and " + std::to_string(data.size()) + " bytes follow, ";
    if (said > data.size() / 12 || ends > (data.size() - 12 * said) / 8) refuse(announced + "too few; the file is truncated");
    sequences = static_cast<std::size_t>(said);
    entries = static_cast<std::size_t>(ends);
    lengths = data.substr(0, 4 * sequences);
    pointers = data.substr(4 * sequences, 8 * sequences);
    documents = data.substr(12 * sequences, 8 * entries);
    if (auto const rest = data.size() - 12 * sequences - 8 * entries; rest != 0 && rest != sequences)  // or modes
      refuse(announced + std::to_string(rest) + " too many; the file is damaged");
  }
  [[nodiscard]] std::int32_t length(std::size_t i) const noexcept { return little_endian<std::int32_t>(lengths, 4 * i); }
};

}  // namespace

void append_megatron_index(table& out, std::string_view bytes, std::string const& name, selection const& select) {
  megatron_index const in(bytes, name);
  out.begin_file(name, table::counted_by::entry);
  if (select.histogram) throw bad_input(name + ": this is Megatron's index, which is no histogram; leave out --histogram");
  auto const chosen = select.measures.empty() && select.fields.empty() ? std::vector<std::vector<std::size_t>>{{0}}
                                                                       : resolve_columns(select, 2, {"sequences", "documents"}, name);
  if (chosen.size() != 1 || chosen[0].size() != 1)
    throw bad_input(name + ": sequences and documents of Megatron's index are two data sets, not two columns; give --columns one of them");
  std::int64_t end = 0;
  for (std::size_t i = 0; i < in.sequences; ++i) {
    auto const begin = little_endian<std::int64_t>(in.pointers, 8 * i), length = std::int64_t{in.length(i)};
    if (length < 0) throw not_a_value(out.place(i + 1), std::to_string(length));
    if (begin < end || begin > largest_length - length * in.item)
      throw bad_input(out.place(i + 1) + ": begins at byte " + std::to_string(begin) + " of the .bin file, where entry " +
                      std::to_string(i) + " ends at " + std::to_string(end) + "; the index is damaged");
    end = begin + length * in.item;
  }
  if (chosen[0][0] == 0) {
    out.reserve_rows(in.sequences);
    for (std::size_t i = 0; i < in.sequences; ++i)
      append_row(out, select.skip_zeros, i + 1, chosen, [&](std::size_t, std::size_t) { return in.length(i); });
    return;
  }
  auto const first = [&](std::size_t d) { return little_endian<std::uint64_t>(in.documents, 8 * d); };
  auto const damaged = [&](std::size_t d, std::string const& expected) {
    return bad_input(name + ": entry " + std::to_string(d) + " of its documents is " + std::to_string(first(d)) + ", expected is " +
                     expected + "; the index is damaged");
  };
  if (in.entries == 0) return;
  if (first(0) != 0) throw damaged(0, "0");
  if (first(in.entries - 1) != in.sequences) throw damaged(in.entries - 1, std::to_string(in.sequences) + ", the number of sequences");
  for (std::size_t d = 0; d + 1 < in.entries; ++d)
    if (first(d + 1) < first(d) || first(d + 1) > in.sequences) throw damaged(d + 1, "at least the one before");
  out.reserve_rows(in.entries - 1);
  for (std::size_t d = 0; d + 1 < in.entries; ++d)
    append_row(out, select.skip_zeros, d + 1, chosen, [&](std::size_t, std::size_t) {
      std::int64_t sum = 0;  // at most 2^31 tokens for each 12 bytes of the file
      for (auto i = first(d); i < first(d + 1); ++i) sum += in.length(static_cast<std::size_t>(i));
      return sum;
    });
}

}  // namespace ballast_cli
