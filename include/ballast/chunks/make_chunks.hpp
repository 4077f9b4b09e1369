// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

/// @file
/// @brief `make_chunks`: micro-batches of at most a fixed number of tokens; long samples are cut, short ones share a chunk.

namespace ballast::inline v0_2 {

/// @brief Neighbouring tokens of a sample.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct token_range {
  Index sample = 0;        ///< index of the sample
  std::int64_t begin = 0;  ///< its first token
  std::int64_t end = 0;    ///< past its last token; above `begin`
  friend constexpr bool operator==(token_range const&, token_range const&) = default;
};

/// @brief Options of planners that make chunks. `size` has no default.
struct chunking_options {
  std::int64_t size = 0;  ///< most tokens of a chunk, at least 1
};

/// @brief A batch in chunks: micro-batches of bounded size, some of which depend on each other.
///
/// A *standalone* chunk holds complete samples. A *dependent* chunk holds neighbouring tokens of one sample that is longer than a chunk;
/// its tokens attend to all tokens of the sample in earlier chunks. A *chain* lists the chunks of such a sample in the order of its tokens;
/// a standalone chunk is a chain of its own.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct chunking {
  std::vector<token_range<Index>> ranges;     ///< chunk after chunk
  std::vector<std::uint64_t> offsets{0};      ///< `size() + 1` entries: chunk k holds `ranges[offsets[k]] ... ranges[offsets[k + 1] - 1]`
  groups<std::uint32_t> chains;               ///< numbers of chunks; every chunk is in exactly one chain
  certificate count;                          ///< number of chunks, and a lower bound (see the planner)
  packing_bound bound = packing_bound::none;  ///< what proves the part of the lower bound that belongs to the short samples

  /// @brief Number of chunks. @return at least 0
  [[nodiscard]] std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  /// @brief The tokens of a chunk. @param k below `size()` @return a view of `ranges`
  [[nodiscard]] std::span<token_range<Index> const> operator[](std::size_t k) const& noexcept {
    return std::span(ranges).subspan(static_cast<std::size_t>(offsets[k]), static_cast<std::size_t>(offsets[k + 1] - offsets[k]));
  }
  std::span<token_range<Index> const> operator[](std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Number of tokens in a chunk. @param k below `size()` @return tokens
  [[nodiscard]] std::int64_t tokens(std::size_t k) const noexcept {
    auto const held = (*this)[k];
    return std::accumulate(held.begin(), held.end(), std::int64_t{0}, [](auto sum, auto const& r) { return sum + (r.end - r.begin); });
  }
  friend bool operator==(chunking const&, chunking const&) = default;
};

/// @brief Throws unless a batch can be cut into chunks: a chunk has room for a token, and 32 bits number all chunks.
/// @tparam R  range of integers
/// @param lengths  sample lengths in tokens, each at least 1
/// @param options  the size of a chunk
/// @return the number of chunks that the samples longer than `size` need
/// @throws invalid_input naming the option or the first length that breaks a rule
/// @par Complexity
/// O(samples).
template <length_range R>
[[nodiscard]] std::int64_t require_chunks(R const& lengths, chunking_options const& options) {
  require(options.size > 0, [&] { return sentence("size = ", options.size, " must be positive"); });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  constexpr std::int64_t most = (std::numeric_limits<std::uint32_t>::max)();
  std::int64_t pieces = 0;
  if (extent_of(lengths).longest > options.size)
    for (std::size_t i = 0; i < n; ++i) {
      auto const length = static_cast<std::int64_t>(at[i]);
      if (length <= options.size) continue;
      auto const more = divide_up(length, options.size);
      require(more <= most - pieces, [&] {
        return sentence(entry("lengths", i, length), " brings the number of chunks to 2^32 or more: size = ", options.size,
                        " is too small");
      });
      pieces += more;
    }
  require(n <= static_cast<std::uint64_t>(most - pieces),
          [&] { return sentence(n, " samples and ", pieces, " pieces may be 2^32 chunks or more"); });
  return pieces;
}

namespace detail {
template <index_type Index>
struct chunking_memory {
  packing_workspace<Index> packer;
  packing<Index> packed;
};
}  // namespace detail

/// @brief Scratch memory of `make_chunks`, for callers who cut every batch.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
using chunking_workspace = kept_memory<detail::chunking_memory<Index>>;

/// @brief Cuts a batch into chunks in caller-owned memory. The overload without `workspace` says what it computes.
/// @param lengths    sample lengths in tokens, each at least 1; may be empty
/// @param options    the size of a chunk
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the chunks; its memory is used again
/// @throws invalid_input as the other overload; `out` is then unchanged
template <index_type Index, length_range R>
void make_chunks(R const& lengths, chunking_options const& options, chunking_workspace<Index>& workspace, chunking<Index>& out) {
  auto const pieces = require_chunks(lengths, options);
  auto& [packer, packed] = detail::memory_of(workspace);
  best_fit_decreasing(lengths, {.capacity = options.size, .oversize = oversize::set_aside}, token_cost{}, packer, packed);
  auto const& packs = packed.packs;
  auto const& cut = packed.set_aside;
  auto const at = read_by_position(lengths);
  auto const alone = packs.size(), chunks = alone + static_cast<std::size_t>(pieces), whole = packs.members.size();
  // every size is known, so memory that is used again is not cleared
  out.ranges.resize(whole + static_cast<std::size_t>(pieces));
  out.offsets.resize(chunks + 1);
  out.chains.members.resize(chunks);
  out.chains.offsets.resize(alone + cut.size() + 1);
  for (std::size_t j = 0; j < whole; ++j) out.ranges[j] = {packs.members[j], 0, static_cast<std::int64_t>(at[packs.members[j]])};
  std::copy(packs.offsets.begin(), packs.offsets.end(), out.offsets.begin());
  std::iota(out.chains.members.begin(), out.chains.members.end(), std::uint32_t{0});
  std::iota(out.chains.offsets.begin(), out.chains.offsets.begin() + static_cast<std::ptrdiff_t>(alone + 1), std::uint64_t{0});
  auto next = whole, chunk = alone, chain = alone;
  for (auto const i : cut) {
    auto const length = static_cast<std::int64_t>(at[i]);
    for (std::int64_t begin = 0, end = 0; begin < length; begin = end) {
      end = begin + (std::min)(options.size, length - begin);
      out.ranges[next++] = {i, begin, end};
      out.offsets[++chunk] = next;
    }
    out.chains.offsets[++chain] = chunk;
  }
  out.count = {static_cast<std::int64_t>(chunks), packed.count.lower_bound + pieces};
  out.bound = packed.bound;
}

/// @brief Cuts a batch into chunks: long samples into pieces of `size` tokens and a rest, short ones packed by best-fit decreasing.
///
/// A sample longer than `size` is cut into `ceil(length / size)` consecutive pieces, each a chunk, the last of which may be shorter. All
/// other samples stay complete and are packed. Standalone chunks come first, in the order in which best-fit decreasing opens them, then
/// the chunks of each long sample, in the order of the samples; so do the chains.
///
/// `count.lower_bound` is the sum of `ceil(length / size)` over the long samples, and of the lower bound of packing.hpp (L2 and others)
/// for the short ones. It holds for every chunking in which a long sample shares none of its chunks and short samples are not cut.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  the size of a chunk
/// @return the chunks and their chains
/// @post every token is in exactly one chunk; no chunk has more than `size` tokens
/// @throws invalid_input for a size or a length that is not positive, or if there may be 2^32 chunks or more
/// @par Complexity
/// That of `best_fit_decreasing`: linear in the number of samples; plus O(chunks).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// ChunkFlow, arXiv 2503.02356, algorithm 1, which tries 1, 2, 3, ... packs until all short samples fit; the packing is the library's own.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] chunking<Index> make_chunks(R const& lengths, chunking_options const& options) {
  chunking_workspace<Index> workspace;
  chunking<Index> out;
  make_chunks(lengths, options, workspace, out);
  return out;
}

/// @brief Time of each chunk: that of its tokens, and a fixed time per chunk.
///
/// The time of the tokens `[b, e)` of a sample is `cost(e) - cost(b)`, and `cost(e)` for `b = 0`. This is exact for causal attention: the
/// tokens attend to all earlier ones of their sample.
///
/// @tparam Index  index type of the chunks
/// @tparam Cost   a `cost_model` that does not fall
/// @param plan       the chunks
/// @param cost       time of a complete sample of some length
/// @param per_chunk  time of a chunk that does not depend on its tokens, not negative
/// @return one time for each chunk
/// @throws invalid_input if a cost is outside [0, 2^63), falls from one length to a larger one, or the sum of all times reaches 2^63
/// @par Complexity
/// O(ranges) calls of the cost model.
template <index_type Index, cost_model Cost>
[[nodiscard]] std::vector<std::int64_t> chunk_times(chunking<Index> const& plan, Cost const& cost, std::int64_t per_chunk = 0) {
  std::vector<std::int64_t> times(plan.size());
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < plan.size(); ++k) {
    auto time = std::int64_t{0};
    add_checked(time, per_chunk, "per_chunk of chunk", k);
    for (auto const& r : plan[k]) {
      auto const begin = [&] { return sentence("begin = ", r.begin, " of a range of sample ", r.sample); };
      auto const end = [&] { return sentence("end = ", r.end, " of a range of sample ", r.sample); };
      auto const before = r.begin == 0 ? 0 : checked_cost(r.begin, cost, "cost", begin);
      auto const through = checked_cost(r.end, cost, "cost", end);
      require(before <= through,
              [&] { return sentence("the cost falls from ", before, " at ", r.begin, " tokens to ", through, " at ", r.end); });
      add_checked(time, through - before, "time of chunk", k);
    }
    add_checked(sum, time, "time of chunk", k);
    times[k] = time;
  }
  return times;
}

}  // namespace ballast::inline v0_2
