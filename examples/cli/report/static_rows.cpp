// SPDX-License-Identifier: Apache-2.0
#include "report/static_rows.hpp"

#include "errors.hpp"
#include "report/output.hpp"
#include "report/plan_folder.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <limits>

namespace ballast_cli {

template <class Index>
static_arrays static_arrays_of(ballast::groups<Index> const& packs, std::span<std::int64_t const> lengths, std::int64_t multiple,
                               std::int64_t capacity, std::uint64_t max_items) {
  if (capacity > (std::numeric_limits<std::int32_t>::max)())
    throw bad_input("--static: cu_seqlens are integers of 32 bits, and --capacity " + std::to_string(capacity) + " is 2^31 or more");
  static_arrays out{.by = ballast::static_rows(packs, lengths, multiple, static_cast<std::size_t>(capacity)), .packs = packs.size()};
  if (max_items != 0 && max_items < lengths.size()) out.by.sequences = static_cast<std::size_t>(max_items) + 1;
  auto const entries = out.by.sequences + 1;
  out.cu_seqlens.resize(packs.size() * entries);
  out.cu_seqlens_padded.resize(packs.size() * entries);
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto const of = [&](std::vector<std::int32_t>& all) { return std::span(all).subspan(p * entries, entries); };
    auto const cu = of(out.cu_seqlens);
    (void)ballast::write_packed_row<std::int32_t, std::int32_t>(packs[p], lengths,
                                                                {.cu_seqlens = cu, .cu_seqlens_padded = of(out.cu_seqlens_padded)}, out.by);
    out.padding += capacity - cu.back();
  }
  return out;
}

template static_arrays static_arrays_of(ballast::groups<std::uint32_t> const&, std::span<std::int64_t const>, std::int64_t, std::int64_t,
                                        std::uint64_t);
template static_arrays static_arrays_of(ballast::groups<std::uint64_t> const&, std::span<std::int64_t const>, std::int64_t, std::int64_t,
                                        std::uint64_t);

void add_files(std::vector<folder_file>& files, static_arrays const& of) {
  std::array const shape{of.packs, of.by.sequences + 1};
  files.push_back(array_file<std::int32_t>("cu_seqlens.npy", "<i4", shape, of.cu_seqlens));
  files.push_back(array_file<std::int32_t>("cu_seqlens_padded.npy", "<i4", shape, of.cu_seqlens_padded));
}

nlohmann::ordered_json to_json(static_arrays const& of) {
  return {{"tokens", of.by.tokens}, {"sequences", of.by.sequences}, {"max_seqlen", of.by.longest}, {"padding", of.padding}};
}

std::string in_words(static_arrays const& of) {
  auto const all = static_cast<double>(of.packs) * static_cast<double>(of.by.tokens);
  return "Static shapes: each pack is a row of " + counted(of.by.tokens, "token") + ", with cu_seqlens of " +
         counted(of.by.sequences + 1, "integer") + " and max_seqlen " + grouped(static_cast<std::uint64_t>(of.by.longest)) + "; " +
         percent(all == 0 ? 0 : static_cast<double>(of.padding) / all) + " of the tokens are padding, which no sequence attends to.\n";
}

}  // namespace ballast_cli
