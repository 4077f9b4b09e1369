// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/water_filling.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <vector>

/// @file
/// @brief DistCA (Zhuang et al., arXiv 2510.18121): tokens are placed evenly, and the attention of long documents is computed elsewhere.

namespace ballast::inline v0_2::distca {

/// @brief How a document that is on several servers is cut.
enum class placement : std::uint8_t {
  head_and_tail,  ///< from outside in: each server has a head and a tail of the same size, so its share of the pairs is that of its tokens
  in_order,       ///< into neighbouring tokens: the server with the last ones has the most pairs
};

/// @brief A run: costs, servers and variants. Costs, bytes and servers have no default; `run_of` computes those of a model.
struct run {
  water_filling_options servers{};                                 ///< servers, bytes, tolerance and variants; see `published`
  std::int64_t per_token = 0;                                      ///< time of the linear layers for one token, positive
  std::int64_t per_pair = 0;                                       ///< time of attention for one pair of a query and a key, positive
  distca::placement placement = distca::placement::head_and_tail;  ///< how a document on several servers is cut
};

/// @brief The run of a model: costs in units of `sample_cost(model).flops_per_unit` forward FLOPs, bytes of one layer in 16 bits.
///
/// A query moves with its output. The paper's formula counts h for a query and 2 h_kv for a key and its value.
///
/// @param model    shape of the model; causal, without windows
/// @param servers  number of servers
/// @return the run, two-sided
/// @throws invalid_input if the model is not valid, not causal, or has layers with a window
template <class = when_called>
[[nodiscard]] inline run run_of(transformer const& model, std::uint64_t servers) {
  auto const cost = sample_cost(model);
  require(cost.causal && cost.per_windowed_pair == 0, [] { return "the model must be causal and without windows"; });
  auto const widths = model.head_width + (model.v_width > 0 ? model.v_width : model.head_width);
  return {.servers = {.servers = servers, .query_bytes = 2 * model.query_heads * widths, .key_value_bytes = 2 * model.kv_heads * widths},
          .per_token = cost.per_token,
          .per_pair = cost.per_pair};
}

/// @brief The same run as published: one-sided with a tolerance of a tenth of the mean, and queries off both ends. @param by a run
/// @return the run with these variants
[[nodiscard]] constexpr run published(run by) noexcept {
  by.servers.tolerance = 100;
  by.servers.filling = filling::one_sided;
  by.servers.cut = attention_cut::head_and_tail;
  return by;
}

/// @brief A batch on its servers: where the tokens are, and where their attention is computed.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct schedule {
  ballast::shards<Index> shards;    ///< the tokens of each server, one pass each; `time` is that with all attention at home
  attention_plan<Index> attention;  ///< the attention of each server; `home` is the server that has the tokens
  certificate time;                 ///< of the slowest server, linear layers and attention; the bound holds for any placement
};

/// @brief Places the same number of tokens on each server, one more on the first where they do not divide evenly.
///
/// Documents are laid out in the given order; one that its server has no room for continues on the next.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each document
/// @param servers  number of servers, at least 1
/// @param how      how a document on several servers is cut
/// @return one pass for each server; a document on several is shared by the group of these
/// @throws invalid_input if a length or the number of servers is not positive
/// @par Complexity
/// O(documents + servers).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] shards<Index> place_tokens(R const& lengths, std::uint64_t servers, placement how = placement::head_and_tail) {
  require(servers > 0 && servers < 1U << 20, [&] { return sentence("servers = ", servers, " must be in 1 ... 2^20 - 1"); });
  auto const tokens = extent_of(lengths).tokens, count = static_cast<std::int64_t>(servers);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "documents");
  auto const at = read_by_position(lengths);
  shards<Index> out;
  out.execution = execution::mixed;
  out.rank_offsets.resize(static_cast<std::size_t>(servers) + 1);
  std::iota(out.rank_offsets.begin(), out.rank_offsets.end(), std::uint64_t{0});
  std::uint32_t server = 0;
  auto const room_of = [&](std::int64_t s) { return tokens / count + (s < tokens % count ? 1 : 0); };
  auto room = room_of(0);
  auto const next_server = [&] {
    out.pass_offsets.push_back(out.pieces.size());
    room = ++server < servers ? room_of(server) : 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    auto const sample = static_cast<Index>(i);
    std::int64_t begin = 0, end = static_cast<std::int64_t>(at[i]);
    if (room == 0) next_server();
    if (end <= room) {
      out.pieces.push_back({sample, begin, end, not_shared});
      room -= end;
      continue;
    }
    auto const group = static_cast<std::uint32_t>(out.rank_groups.size());
    std::vector<std::uint32_t> ranks;
    while (begin < end) {
      if (room == 0) next_server();
      ranks.push_back(server);
      auto const here = (std::min)(room, end - begin), head = how == placement::in_order || here == end - begin ? here : here - here / 2;
      out.pieces.push_back({sample, begin, begin + head, group});
      if (here > head) out.pieces.push_back({sample, end - (here - head), end, group});
      begin += head;
      end -= here - head;
      room -= here;
    }
    out.rank_groups.push_back(ranks);
  }
  for (auto empty = servers - server; empty > 0; --empty) next_server();
  return out;
}

/// @brief Schedules a batch as DistCA does: tokens evenly, then attention by `water_filling`.
///
/// The time of a server is that of the linear layers for its tokens and of attention for its pairs. The transfers are taken to hide behind
/// them, as the paper's overlap of two halves of a batch does; `attention.bytes_moved` is what must hide.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each document
/// @param by       the run
/// @return where tokens are and attention is computed, and the time of the slowest server
/// @post no server has more than `ceil(tokens / servers)` tokens
/// @throws invalid_input as `place_tokens` and `water_filling`, if a cost is not positive, or the sum of all times reaches 2^63
/// @par Complexity
/// That of `place_tokens` and `water_filling`.
/// @par Determinism
/// A pure function of its arguments; decided in integers.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] schedule<Index> plan(R const& lengths, run const& by) {
  for (auto const cost : {by.per_token, by.per_pair})
    require(cost > 0, [&] { return sentence("a cost of ", cost, " for each token or pair must be positive"); });
  schedule<Index> out;
  out.shards = place_tokens<Index>(lengths, by.servers.servers, by.placement);
  auto const given = attention_tasks_of(out.shards);
  out.attention = water_filling(given, by.servers);

  auto const servers = static_cast<std::size_t>(by.servers.servers);
  std::vector<std::int64_t> tokens(servers, 0), at_home(servers, 0);
  std::int64_t all_tokens = 0, all_pairs = 0;
  for (auto const& t : given) {
    tokens[t.home] += t.queries();
    at_home[t.home] += t.pairs();
    all_tokens += t.queries();
    all_pairs += t.pairs();
  }
  auto const time = [&](std::int64_t token_count, std::int64_t pairs) {
    return checked(by.per_token) * checked(token_count) + checked(by.per_pair) * checked(pairs);
  };
  auto const all = time(all_tokens, all_pairs);
  require(all.fits(), [] { return "the sum of all times reaches 2^63"; });
  out.shards.time.lower_bound = out.time.lower_bound = divide_up(all.value, static_cast<std::int64_t>(servers));
  for (std::size_t s = 0; s < servers; ++s) {
    out.shards.time.value = (std::max)(out.shards.time.value, time(tokens[s], at_home[s]).value);
    out.time.value = (std::max)(out.time.value, time(tokens[s], out.attention.loads[s]).value);
  }
  return out;
}

}  // namespace ballast::inline v0_2::distca
