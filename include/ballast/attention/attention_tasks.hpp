// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `attention_task`: queries of a sample whose causal attention one server computes; `attention_plan`, the tasks of all servers; and
/// the options of `water_filling`, which makes one.

namespace ballast::inline v0_2 {

/// @brief Which servers must be within the tolerance.
enum class filling : std::uint8_t {
  two_sided,  ///< those above the mean and those below
  one_sided,  ///< only those below the mean, as DistCA does; those above keep what these may lack
};

/// @brief Which queries of a task move together.
enum class attention_cut : std::uint8_t {
  window,         ///< neighbouring queries, as many and where they move with the fewest bytes
  head_and_tail,  ///< queries off both ends, as DistCA moves them
};

/// @brief Servers, bytes and tolerance. The number of servers and the bytes have no default.
struct water_filling_options {
  std::uint64_t servers = 0;         ///< number of servers, at least 1
  std::int64_t query_bytes = 0;      ///< bytes that a query moves: itself, and its output if that returns; positive
  std::int64_t key_value_bytes = 0;  ///< bytes of the key and the value of a token, positive
  std::int64_t multiple = 128;       ///< a part has a multiple of this many queries: the rows of a tile of the kernel
  std::int64_t tolerance = 5;        ///< how far from the mean a server may be, in thousandths of it; 0: a ten-thousandth
  ballast::filling filling = ballast::filling::two_sided;  ///< which servers must be within the tolerance
  attention_cut cut = attention_cut::window;               ///< which queries of a task move together
};

/// @brief Queries of one sample, and the server where their tokens are: a range, or a head and a tail.
///
/// Take q queries off the front of the head and q off the back of the tail (of a single range: off both ends). They cost exactly
/// `q * slope()` pairs, wherever the range is: what the head has too little, the tail has too much.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct attention_task {
  Index sample = 0;             ///< index of the sample
  std::uint32_t home = 0;       ///< the server that holds the tokens of the queries
  std::int64_t begin = 0;       ///< first query of the head
  std::int64_t end = 0;         ///< past the last query of the head
  std::int64_t tail_begin = 0;  ///< first query of the tail, at least `end`
  std::int64_t tail_end = 0;    ///< past the last query of the tail; equal to `tail_begin` if there is no tail

  /// @brief Whether there is a tail.
  [[nodiscard]] constexpr bool has_tail() const noexcept { return tail_end > tail_begin; }
  /// @brief Number of keys that the queries attend to: all up to the last query.
  [[nodiscard]] constexpr std::int64_t keys() const noexcept { return has_tail() ? tail_end : end; }
  /// @brief Number of queries.
  [[nodiscard]] constexpr std::int64_t queries() const noexcept { return end - begin + (has_tail() ? tail_end - tail_begin : 0); }
  /// @brief Pairs of the first and the last query together.
  [[nodiscard]] constexpr std::int64_t slope() const noexcept { return begin + keys() + 1; }
  /// @brief The (query, key) pairs of the task under a causal mask: q k - q (q - 1) / 2 for q queries that end at key k.
  [[nodiscard]] constexpr std::int64_t pairs() const noexcept {
    auto const head = shard_pairs(causal_pairs{}, end - begin, end);
    return has_tail() ? head + shard_pairs(causal_pairs{}, tail_end - tail_begin, tail_end) : head;
  }
  friend constexpr bool operator==(attention_task const&, attention_task const&) = default;
};

/// @brief Which attention each server computes.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct attention_plan {
  std::vector<std::uint64_t> server_offsets{0};  ///< `servers() + 1` entries: the tasks of each server
  std::vector<attention_task<Index>> tasks;      ///< server after server
  std::vector<std::int64_t> loads;               ///< pairs of each server
  std::int64_t bytes_moved = 0;                  ///< queries, keys and values of all tasks that are not at home
  std::uint64_t moves = 0;                       ///< number of tasks that are not at home
  certificate load;                              ///< the largest load; no division has one below the mean, rounded up

  /// @brief Number of servers. @return at least 0
  [[nodiscard]] std::size_t servers() const noexcept { return server_offsets.empty() ? 0 : server_offsets.size() - 1; }
  /// @brief The tasks of one server. @param server below `servers()` @return a view of `tasks`
  [[nodiscard]] std::span<attention_task<Index> const> operator()(std::size_t server) const& noexcept {
    return std::span(tasks).subspan(static_cast<std::size_t>(server_offsets[server]),
                                    static_cast<std::size_t>(server_offsets[server + 1] - server_offsets[server]));
  }
  std::span<attention_task<Index> const> operator()(std::size_t) const&& = delete;  ///< a view of a temporary would dangle
};

/// @brief Hash of a plan: FNV-1a over the tasks of each server.
/// @tparam Index  index type of the plan
/// @param plan  any plan
/// @return 64 bits; equal plans have equal hashes, whatever their index type
/// @par Complexity
/// O(tasks).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(attention_plan<Index> const& plan) noexcept {
  fnv1a h;
  for (auto const at : plan.server_offsets) h.append(at);
  for (auto const& t : plan.tasks) {
    h.append(t.sample);
    h.append(t.home);
    h.append(static_cast<std::uint64_t>(t.begin));
    h.append(static_cast<std::uint64_t>(t.end));
    h.append(static_cast<std::uint64_t>(t.tail_begin));
    h.append(static_cast<std::uint64_t>(t.tail_end));
  }
  return h.value();
}

/// @brief Lists the attention of shards as it is placed: a task for each piece on its rank.
///
/// Two neighbouring pieces of one sample in one pass become the head and the tail of one task, as `share_layout::zigzag` cuts them.
///
/// @tparam Index  index type of the shards
/// @param plan  the shards
/// @return the tasks, rank after rank, with the rank as `home`
/// @par Complexity
/// O(pieces).
/// @par Determinism
/// A pure function of its argument.
template <index_type Index>
[[nodiscard]] std::vector<attention_task<Index>> attention_tasks_of(shards<Index> const& plan) {
  std::vector<attention_task<Index>> out;
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t m = 0; m < plan.passes(r); ++m) {
      auto const first = out.size();
      for (auto const& p : plan(r, m)) {
        if (out.size() > first && out.back().sample == p.sample && !out.back().has_tail()) {
          out.back().tail_begin = p.begin;
          out.back().tail_end = p.end;
        } else {
          out.push_back({p.sample, static_cast<std::uint32_t>(r), p.begin, p.end, p.end, p.end});
        }
      }
    }
  return out;
}

namespace detail {

/// Validates the tasks and that no sum of pairs or bytes overflows.
template <index_type Index>
void require_valid(std::span<attention_task<Index> const> tasks, water_filling_options const& o) {
  require(o.servers > 0 && o.servers < 1U << 20, [&] { return sentence("servers = ", o.servers, " must be in 1 ... 2^20 - 1"); });
  for (auto const& [name, bytes] : {std::pair{"query_bytes", o.query_bytes}, std::pair{"key_value_bytes", o.key_value_bytes}})
    require(bytes > 0 && bytes < 1 << 24, [&] { return sentence(name, " = ", bytes, " must be in 1 ... 2^24 - 1"); });
  require(o.multiple > 0 && o.multiple < 1 << 24, [&] { return sentence("multiple = ", o.multiple, " must be in 1 ... 2^24 - 1"); });
  require(o.tolerance >= 0 && o.tolerance <= 1000, [&] { return sentence("tolerance = ", o.tolerance, " must be in 0 ... 1000"); });
  auto const count = static_cast<std::int64_t>(tasks.size());
  std::int64_t pairs = 0, queries = 0, most_keys = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks[i];
    auto const what = [&] { return sentence("tasks[", i, "]"); };
    require(t.home < o.servers, [&] { return sentence(what(), ".home = ", t.home, " must be below servers"); });
    require(0 <= t.begin && t.begin < t.end,
            [&] { return sentence(what(), " has the queries ", t.begin, " to ", t.end, ", which is no range"); });
    require(!t.has_tail() || t.tail_begin >= t.end, [&] { return what() + ".tail_begin must not be before its end"; });
    require(t.keys() < std::int64_t{1} << 31, [&] { return sentence(what(), " ends at key ", t.keys(), ", 2^31 or more"); });
    add_checked(pairs, t.pairs(), "pairs of tasks", i);
    queries += t.queries();
    most_keys = (std::max)(most_keys, t.keys());
  }
  auto const bytes = checked(queries) * checked(o.query_bytes) +
                     checked(2 * (count + queries / o.multiple)) * checked(most_keys) * checked(o.key_value_bytes);
  require(bytes.fits(), [] { return "the bytes of all possible moves reach 2^63"; });
}

}  // namespace detail

}  // namespace ballast::inline v0_2
