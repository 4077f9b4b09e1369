// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/methods/detail/packs_on_groups.hpp>
#include <ballast/methods/detail/tuple_differencing.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The micro-batches of slime (THUDM/slime): packs first, data-parallel ranks second, balanced by Karmarkar-Karp on FLOPs.

namespace ballast::inline v0_2::slime {

/// @brief The work of a sample: FLOPs of its forward pass as slime counts them, divided by what all coefficients share.
///
/// It counts the embedding as no work, causal scores as half of all pairs, and values as much as scores.
/// @param model  a transformer without latent attention; experts count as one block of all active and shared ones
/// @return the work by tokens of a sample
[[nodiscard]] constexpr quadratic_cost workload(transformer const& model) noexcept {
  auto const h = model.hidden, width = model.head_width;
  std::int64_t linear = 2 * h * model.vocabulary;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    auto const ffn =
        model.experts > 0 && model.expert_layers.contains(l) ? model.expert_ffn * model.active_experts + model.shared_ffn : model.ffn;
    linear += 2 * h * width * (model.query_heads + 2 * model.kv_heads) + 2 * h * h + 6 * h * ffn;
  }
  auto const quadratic = 2 * model.layers * model.query_heads * width;
  auto const shared = (std::max)(std::gcd(linear, quadratic), std::int64_t{1});
  return {.linear = linear / shared, .quadratic = quadratic / shared};
}

/// @brief How packs are made, and dealt to the data-parallel ranks.
enum class balance : std::uint8_t {
  in_turn,   ///< first fit in the given order; packs in turn (neither `balance_data` nor `balance_by_flops`)
  by_ranks,  ///< first fit in the given order; packs by Karmarkar-Karp on their work, equally many (`balance_data`)
  by_packs,  ///< packs by Karmarkar-Karp on the work of samples, too, as many as the tokens need (`balance_by_flops`)
};

/// @brief A run of `packs`. Only `capacity` has no default.
struct options {
  std::int64_t capacity = 0;                   ///< most tokens of a pack: those of all context-parallel ranks together
  std::uint64_t data_ranks = 1;                ///< data-parallel ranks, which get equally many packs
  std::uint64_t micro_batch_multiple = 1;      ///< packs of a data-parallel rank are a multiple of it, for virtual pipeline stages
  slime::balance balance = balance::by_ranks;  ///< how packs are balanced
  std::uint64_t fewest_packs = 0;              ///< with `balance::by_packs`: make at least so many, where the published number has no room
};

namespace detail {

/// Splits the pack of most tokens, the last of them, into two of similar tokens until there are `wanted`, or no pack has two samples.
template <index_type Index, class Lengths>
void split_packs(std::vector<std::vector<Index>>& bins, std::size_t wanted, Lengths const& length) {
  std::vector<std::int64_t> tokens;
  auto const sum = [&](std::vector<Index> const& bin) {
    std::int64_t all = 0;
    for (auto const i : bin) all += length(i);
    return all;
  };
  for (auto const& b : bins) tokens.push_back(sum(b));
  while (bins.size() < wanted) {
    auto most = bins.size();
    for (std::size_t b = 0; b < bins.size(); ++b)
      if (bins[b].size() > 1 && (most == bins.size() || tokens[b] >= tokens[most])) most = b;
    if (most == bins.size()) return;
    std::vector<std::size_t> order(bins[most].size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      auto const x = length(bins[most][a]), y = length(bins[most][b]);
      return x != y ? x > y : a < b;
    });
    std::vector<Index> half[2];
    std::int64_t held[2] = {0, 0};
    for (auto const k : order) {
      auto const h = held[0] <= held[1] ? 0 : 1;
      half[h].push_back(bins[most][k]);
      held[h] += length(bins[most][k]);
    }
    bins[most] = std::move(half[0]);
    bins.push_back(std::move(half[1]));
    tokens[most] = held[0];
    tokens.push_back(held[1]);
  }
}

}  // namespace detail

/// @brief Packs the samples of a training step as slime does, and deals the packs to the data-parallel ranks.
///
/// Each sample goes into the first pack with room, in the given order. The pack of most tokens is split in two, by longest processing time,
/// until each data-parallel rank can have equally many packs. Then Karmarkar-Karp deals the packs by their work. `options::balance` has the
/// two other modes.
///
/// Where the published code aborts, this does not: if there are fewer samples than packs are needed, the packs that are missing are empty.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample
/// @param o        the run
/// @param work     work of a sample by its tokens: `workload`
/// @return the packs; pack `m * data_ranks + r` is micro-batch m of data-parallel rank r
/// @post no pack exceeds the capacity, but with `balance::by_packs`, whose packs are balanced by work alone
/// @throws invalid_input if an option is out of its range, a length is not positive or exceeds the capacity, or the sum of all work
/// reaches 2^63
/// @par Complexity
/// O(n packs), and O(n log n) with `balance::by_packs`.
/// @par Determinism
/// A pure function of its arguments. Sets of equal work are ordered by their members, as in the published code.
/// @par Source
/// `build_dp_schedule` in slime/utils/dp_schedule.py of THUDM/slime (2026).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] groups<Index> packs(R const& lengths, options const& o, Cost const& work) {
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  for (auto const& [name, value] : {std::pair{"data_ranks", o.data_ranks}, {"micro_batch_multiple", o.micro_batch_multiple}})
    require(value > 0 && value < std::uint64_t{1} << 20, [&] { return sentence(name, " = ", value, " must be in 1 ... 2^20 - 1"); });
  auto const tokens = extent_of(lengths).tokens;
  auto const at = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  std::vector<std::int64_t> mine;
  for (std::size_t i = 0; i < n; ++i) {
    mine.push_back(static_cast<std::int64_t>(at[i]));
    require(mine[i] <= o.capacity, [&] { return sentence(entry("lengths", i, mine[i]), " exceeds capacity = ", o.capacity); });
  }
  std::vector<std::int64_t> works, of_packs;
  weigh(mine, work, "lengths", "work", works);
  std::vector<std::vector<Index>> bins;
  auto const needed = (std::max)(static_cast<std::uint64_t>(divide_up(tokens, o.capacity)), o.fewest_packs);
  if (o.balance == balance::by_packs && needed < n) {
    bins = ballast::detail::tuple_differencing<Index>(works, static_cast<std::size_t>(needed), false).run();
  } else {
    std::vector<std::int64_t> room;
    for (std::size_t i = 0; i < n; ++i) {
      auto const first = std::find_if(room.begin(), room.end(), [&](auto r) { return r >= mine[i] && o.balance != balance::by_packs; });
      auto const b = static_cast<std::size_t>(first - room.begin());
      if (first == room.end()) {
        room.push_back(o.capacity);
        bins.emplace_back();
      }
      room[b] -= mine[i];
      bins[b].push_back(static_cast<Index>(i));
    }
  }
  auto const wanted = static_cast<std::size_t>(round_up(std::uint64_t{bins.size()}, o.data_ranks * o.micro_batch_multiple));
  detail::split_packs(bins, wanted, [&](Index i) { return mine[static_cast<std::size_t>(i)]; });
  bins.resize(wanted);
  groups<Index> out;
  if (o.balance == balance::in_turn || bins.empty()) {
    for (auto const& b : bins) out.push_back(b);
    return out;
  }
  for (auto const& b : bins) {
    of_packs.push_back(0);
    for (auto const i : b) of_packs.back() += works[static_cast<std::size_t>(i)];
  }
  auto const of_rank = ballast::detail::tuple_differencing<std::uint32_t>(of_packs, static_cast<std::size_t>(o.data_ranks), true).run();
  for (std::size_t m = 0; m < wanted / o.data_ranks; ++m)
    for (auto const& mine_of : of_rank) out.push_back(bins[mine_of[m]]);
  return out;
}

/// @brief Variants of `schedule`.
struct variant {
  std::uint64_t context_ranks = 0;             ///< ranks that share every sample, a divisor of the ranks; 0 = the one that takes least time
  slime::balance balance = balance::by_ranks;  ///< how packs are balanced  ///< how packs are made and dealt
  /// Whether packs by work are as many as published, whatever they hold: a pack may exceed the capacity.
  bool as_published = false;
};

/// @brief Schedules a batch by `packs`, on context-parallel groups of one size.
///
/// **Erratum.** Nothing in `balance::by_packs` keeps a pack within the capacity. Here the number of packs grows until all are;
/// `variant::as_published` keeps the published number.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @tparam Work   a `cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param o        shape of the batch; all `execution` but lockstep is that of independent passes
/// @param cost     time of a sample by its length and the number of ranks that share it; it times the plan and chooses the groups
/// @param work     work of a sample by its tokens, by which packs are balanced: `workload`
/// @param by       variants
/// @return the shards; `infeasible` if a sample has no room in a group. A pack of fewer tokens than ranks is on as many ranks as tokens
/// @post `check_shards` accepts the result, unless it is as published; `time.lower_bound` is `any_degree_bound`
/// @throws invalid_input if a length or an option is out of its range, or the sum of all work reaches 2^63
/// @par Complexity
/// As `packs` for each divisor, the pieces and their times; with `balance::by_packs` for each number of packs that is tried, too.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `packs`.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost, cost_model Work>
[[nodiscard]] shards<Index> schedule(R const& lengths, sharding_options const& o, Cost const& cost, Work const& work,
                                     variant const& by = {}) {
  auto const at = read_by_position(lengths);
  return ballast::detail::on_equal_groups<Index>(lengths, o, cost, by.context_ranks, [&](std::uint64_t degree) {
    options one{.capacity = o.capacity * static_cast<std::int64_t>(degree), .data_ranks = o.ranks / degree, .balance = by.balance};
    for (;;) {
      auto made = packs<Index>(lengths, one, work);
      auto const fits = [&](std::span<Index const> pack) {
        std::int64_t tokens = 0;
        for (auto const i : pack) tokens += static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
        return tokens <= one.capacity;
      };
      if (by.as_published || std::all_of(made.begin(), made.end(), fits)) return std::optional(std::move(made));
      one.fewest_packs = made.size() + 1;  // packs of one sample each fit
    }
  });
}

}  // namespace ballast::inline v0_2::slime
