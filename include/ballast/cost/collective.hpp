// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/calibration.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/cost/scaled.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The bytes that each rank sends in a collective, and the time of the collective, over links within nodes and between nodes.

namespace ballast::inline v0_2 {

/// @brief An exchange between the ranks of a group. In parentheses: whose bytes V count, as in NCCL's own tests.
enum class collective : std::uint8_t {
  all_gather,      ///< every rank receives the parts of all (V: all parts together)
  reduce_scatter,  ///< every rank receives its part of the sum (V: the array of one rank before the sum)
  all_reduce,      ///< every rank receives the sum (V: the array of one rank)
  all_to_all,      ///< every rank sends a part to every other rank (V: all parts of one rank)
  send,            ///< every rank sends to the next one (V: what one rank sends)
};

/// @brief The ranks that take part in a collective: every `stride`-th device, from the first device of a node on.
struct rank_group {
  std::int64_t ranks = 1;   ///< number of ranks, in [1, 2^24]
  std::int64_t stride = 1;  ///< distance of two neighbours, in devices, in [1, 2^24]; 1: neighbours are on adjacent devices
  friend constexpr bool operator==(rank_group const&, rank_group const&) = default;
};

/// @brief The links of a cluster.
struct fabric {
  std::int64_t per_node = 8;  ///< number of devices in a node, in [1, 2^24]
  link_time inside{};         ///< from a device to another device of its node
  link_time between{};        ///< from a device to a device of another node, while all devices of the node send
};

/// @brief Bytes that one rank sends.
struct sent_bytes {
  std::int64_t inside = 0;   ///< to ranks of its node
  std::int64_t between = 0;  ///< to ranks of other nodes
  friend constexpr bool operator==(sent_bytes const&, sent_bytes const&) = default;
};

/// @brief The number of ranks of a group that are in the same node.
///
/// If nodes cannot have equally many ranks of the group, it is the largest divisor that fits: 12 ranks on nodes of 8 devices count as 3
/// nodes with 4 ranks each.
///
/// @param group     the group
/// @param per_node  number of devices in a node
/// @return ranks in each node that has one
/// @throws invalid_input if a number is out of range
[[nodiscard]] constexpr std::int64_t ranks_in_node(rank_group const& group, std::int64_t per_node) {
  auto const counted = [](char const* name, std::int64_t value) {
    require(value >= 1 && value <= 1 << 24, [&] { return std::string(name) + " = " + std::to_string(value) + " must be in [1, 2^24]"; });
  };
  counted("ranks", group.ranks);
  counted("stride", group.stride);
  counted("per_node", per_node);
  if (group.ranks <= divide_up(per_node, group.stride)) return group.ranks;
  return group.stride >= per_node ? 1 : std::gcd(group.ranks, per_node / group.stride);
}

/// @brief The bytes that each rank sends in a collective.
///
/// With n ranks, m of them in each node, and V bytes:
/// - all-gather and reduce-scatter: V (m - 1) / m inside, V (n - m) / (n m) between;
/// - all-reduce, a reduce-scatter and an all-gather: twice as many;
/// - all-to-all: V (m - 1) / n inside, V (n - m) / n between;
/// - send: V, between nodes if the group has ranks in several nodes, otherwise inside.
///
/// Both parts of the first three add up to V (n - 1) / n, which is what one ring of all ranks sends.
///
/// @param what      the collective
/// @param bytes     V, in [0, 2^60]
/// @param group     the ranks
/// @param per_node  number of devices in a node
/// @return bytes, each quotient rounded up; none for one rank
/// @throws invalid_input as `ranks_in_node`, or if `bytes` is out of range
/// @par Source
/// Thakur et al., "Optimization of collective communication operations in MPICH", 2005 (rings); Cho et al., "BlueConnect", MLSys 2019 (a
/// ring in each node, and rings of the ranks that have the same place in their nodes).
[[nodiscard]] constexpr sent_bytes bytes_sent(collective what, std::int64_t bytes, rank_group const& group, std::int64_t per_node) {
  auto const n = group.ranks, m = ranks_in_node(group, per_node);
  require(bytes >= 0 && bytes <= std::int64_t{1} << 60, [&] { return "bytes = " + std::to_string(bytes) + " must be in [0, 2^60]"; });
  if (n == 1) return {};
  if (what == collective::send) return m == n ? sent_bytes{bytes, 0} : sent_bytes{0, bytes};
  auto const share = [&](std::int64_t times, std::int64_t by) {
    return static_cast<std::int64_t>(
        multiply_divide_up(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(times), static_cast<std::uint64_t>(by)));
  };
  if (what == collective::all_to_all) return {share(m - 1, n), share(n - m, n)};
  auto const twice = what == collective::all_reduce ? 2 : 1;
  return {twice * share(m - 1, m), twice * share(n / m - 1, n)};
}

/// @brief The time of a collective: that of the bytes inside the node plus that of the bytes between nodes (`bytes_sent`).
///
/// The latency of a link counts once for each kind of link that the collective uses, and twice in an all-reduce. More bytes never take less
/// time. More ranks do not either, in one node or in more nodes with equally many ranks each, except that an all-to-all sends less within
/// each node if it has more nodes.
///
/// @param what   the collective
/// @param bytes  V, in [0, 2^60]
/// @param group  the ranks
/// @param over   the links
/// @return picoseconds; 0 for one rank or no bytes
/// @throws invalid_input as `bytes_sent`, or if the time reaches 2^62 picoseconds
/// @par Determinism
/// All arithmetic is in integers.
template <class = when_called>
[[nodiscard]] inline std::int64_t collective_time(collective what, std::int64_t bytes, rank_group const& group, fabric const& over) {
  auto const sent = bytes_sent(what, bytes, group, over.per_node);
  auto const calls = what == collective::all_reduce ? 2 : 1;
  auto const time = [&](link_time const& link, std::int64_t all) {
    if (all == 0) return checked(0);
    return link.fits(all / calls) ? checked(calls) * checked(link(all / calls)) : checked(checked::none);
  };
  auto const sum = time(over.inside, sent.inside) + time(over.between, sent.between);
  require(sum.fits() && sum.value < std::int64_t{1} << 62, [&] {
    return "a collective of " + std::to_string(bytes) + " bytes on " + std::to_string(group.ranks) +
           " ranks takes 2^62 picoseconds or more";
  });
  return sum.value;
}

/// @brief The link on which a collective takes the measured times: `collective_time` gives the rows back, within 2 picoseconds.
///
/// It takes the rows that NCCL's tests print. What a library does better than a ring, such as a reduction in the switch, becomes bandwidth
/// of the link, so use the link for the collective that was measured. For groups that span nodes the link includes the part within the
/// nodes: use it as `between` of a fabric with `per_node = 1`.
///
/// @param what   the collective that was measured
/// @param ranks  number of ranks, at least 2
/// @param rows   sizes in bytes (as `length`), strictly ascending, and milliseconds
/// @return the link, with one row for each measured one
/// @throws invalid_input if there are fewer than 2 ranks, or a row has no bytes, is out of order, or falls below its predecessor
template <class = when_called>
[[nodiscard]] inline link_time measured_link(collective what, std::int64_t ranks, std::span<timing const> rows) {
  require(ranks >= 2, [&] { return "ranks = " + std::to_string(ranks) + " must be at least 2"; });
  std::vector<link_point> points;
  auto const calls = what == collective::all_reduce ? 2 : 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(rows[i].ms > 0 && rows[i].ms < 1e9,
            [&] { return "rows[" + std::to_string(i) + "].ms = " + std::to_string(rows[i].ms) + " must be in (0, 10^9)"; });
    auto const sent = bytes_sent(what, rows[i].length, {.ranks = ranks}, ranks).inside / calls;
    points.push_back({sent, detail::nearest(rows[i].ms * 1e9 / calls)});
  }
  return link_time(points);
}

/// @brief The links of a DGX system as its datasheet prints them, without latency: no transfer is faster.
/// @param on  an accelerator, such as `device_named("h100")`
/// @return 8 devices in a node, with half of `link_bandwidth` inside, because that figure counts both directions, and
///         `network_bandwidth` between nodes
/// @throws invalid_input if the device has no link or network bandwidth
[[nodiscard]] inline fabric datasheet_fabric(device const& on) {
  require(on.link_bandwidth >= 2 && on.network_bandwidth >= 1,
          [&] { return "the device \"" + std::string(on.name) + "\" has no link or network bandwidth"; });
  return {.per_node = 8, .inside = link_line{0, on.link_bandwidth / 2}, .between = link_line{0, on.network_bandwidth}};
}

}  // namespace ballast::inline v0_2
