// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/longest_processing_time.cuh>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief How level thousands of candidate plans are, at once.

namespace ballast::inline v0_2::gpu {

/// @brief The loads of one plan, in three numbers.
struct load_figures {
  std::int64_t largest = 0;   ///< load of the dearest set
  std::int64_t smallest = 0;  ///< load of the cheapest one
  std::int64_t total = 0;     ///< of all

  /// @brief Share of all rank time that is spent waiting, as `step_balance::idle`. @param sets of the plan
  [[nodiscard]] double idle(std::uint64_t sets) const noexcept {
    return largest == 0 ? 0.0 : 1.0 - static_cast<double>(total) / (static_cast<double>(largest) * static_cast<double>(sets));
  }
  friend constexpr bool operator==(load_figures const&, load_figures const&) = default;
};

/// @brief Candidate plans for the same items, in memory of a backend.
struct candidate_plans {
  std::int64_t const* costs = nullptr;    ///< of each item, none negative, with a sum below 2^63
  std::uint64_t items = 0;                ///< how many
  std::uint32_t const* set_of = nullptr;  ///< candidate after candidate, the set of each item; `no_set` leaves it out
  std::uint64_t candidates = 0;           ///< how many
  std::uint64_t sets = 0;                 ///< of each plan, 1 … `most_sets`
};

namespace detail {

struct balance_cost_at {
  std::int64_t const* costs;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return costs[i] < 0 ? balance_limit : static_cast<std::uint64_t>(costs[i]); }
};
struct balance_add {
  BALLAST_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return balance_sum(a, b); }
};
// Walks the costs only if something is wrong with them.
struct balance_check_total {
  std::int64_t const* costs;
  std::uint64_t items;
  std::uint64_t const* total;
  std::uint64_t* bad;
  BALLAST_HD void operator()(std::size_t) const {
    if (*total == balance_limit) atomic_min(*bad, balance_too_much(costs, 0, items));
  }
};

struct balance_score {
  candidate_plans in;
  std::uint64_t const* total_of_all;
  load_figures* out;
  std::uint64_t* bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t c) const {
    if (*total_of_all == balance_limit) return;
    auto const sets = static_cast<std::uint32_t>(in.sets);
    auto* const load = block.template shared<std::uint64_t>();
    auto* const total = load + sets;
    block.each([&](unsigned lane) {
      for (auto s = lane; s < sets; s += block.lanes()) load[s] = 0;
      if (lane == 0) *total = 0;
    });
    block.each([&](unsigned lane) {
      auto const* const set_of = in.set_of + c * in.items;
      for (std::uint64_t i = lane; i < in.items; i += block.lanes()) {
        if (set_of[i] < sets)
          atomic_add(load[set_of[i]], static_cast<std::uint64_t>(in.costs[i]));
        else if (set_of[i] != balance_no_set)
          atomic_min(bad[1], c * in.items + i);
      }
    });
    block.each([&](unsigned lane) {
      std::uint64_t sum = 0;
      for (auto s = lane; s < sets; s += block.lanes()) sum += load[s];
      atomic_add(*total, sum);
    });
    auto const smallest = block.least([&](unsigned lane) {
      auto found = balance_limit;
      for (auto s = lane; s < sets; s += block.lanes())
        if (load[s] < found) found = load[s];
      return found;
    });
    auto const below = block.least([&](unsigned lane) {  // how far the largest load is below the limit
      auto found = balance_limit;
      for (auto s = lane; s < sets; s += block.lanes())
        if (balance_limit - load[s] < found) found = balance_limit - load[s];
      return found;
    });
    block.each([&](unsigned lane) {
      if (lane == 0)
        out[c] = {static_cast<std::int64_t>(balance_limit - below), static_cast<std::int64_t>(smallest), static_cast<std::int64_t>(*total)};
    });
  }
};

}  // namespace detail

/// @brief Sums the loads of every candidate plan: largest, smallest and total, as `ballast::balance_of_steps` would find them.
///
/// @tparam On  the backend
/// @param on       the backend
/// @param temp     scratch memory, or null to ask for its size
/// @param bytes    size of `temp`
/// @param in       the candidates
/// @param out      one for each candidate
/// @param first_bad  two words: the first item with a negative cost or one that brings the sum to 2^63, and the first entry of `in.set_of`
/// that is no set; all ones if all is well
/// @return the error, if any; `invalid_value` for sets out of range or too small a workspace
/// @par Complexity
/// One pass: 12 bytes read an item and candidate (the costs come from the cache), an atomic sum in shared memory, 24 bytes written a
/// candidate. A group of lanes takes one candidate.
/// @par Determinism
/// Sums of integers do not depend on the order.
template <class On>
[[nodiscard]] typename On::error_type score(On on, void* temp, std::size_t& bytes, candidate_plans const& in, load_figures* out,
                                            std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  if (in.sets < 1 || in.sets > most_sets) return On::invalid_value;
  workspace cut(temp);
  auto const n = static_cast<std::size_t>(in.items);
  auto* const total = cut.take<std::uint64_t>(1);
  std::size_t for_sum = 0;
  mapped const costs(detail::balance_cost_at{in.costs});
  auto done = on.reduce(nullptr, for_sum, costs, total, n, std::uint64_t{0}, detail::balance_add{});
  if (done != ok) return done;
  auto* const sum = cut.take<std::byte>(for_sum);
  if (cut.counting()) return bytes = cut.bytes(), ok;
  if (bytes < cut.bytes()) return On::invalid_value;
  done = on.fill(first_bad, 0xff, 2 * sizeof(std::uint64_t));
  if (done == ok) done = on.reduce(sum, for_sum, costs, total, n, std::uint64_t{0}, detail::balance_add{});
  if (done == ok) done = on.for_each(1, detail::balance_check_total{in.costs, in.items, total, first_bad});
  if (done == ok)
    done = on.blocks(static_cast<std::size_t>(in.candidates), 256, (static_cast<std::size_t>(in.sets) + 1) * sizeof(std::uint64_t),
                     detail::balance_score{in, total, out, first_bad});
  return done;
}

/// @brief The same with scratch memory of the backend; waits.
/// @param on the backend @param in the candidates @param out one for each
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input naming the first bad cost, or the first entry that is no set
template <class On>
void score(On on, candidate_plans const& in, load_figures* out) {
  array<std::uint64_t, On> const bad(on, 2);
  call(on, "score", [&](void* temp, std::size_t& bytes) { return score(on, temp, bytes, in, out, bad.data()); });
  detail::balance_require_costs(on, bad, in.costs);
  std::uint64_t first = 0;
  check(on.download(&first, bad.data() + 1, 1), "download");
  if (first == ~std::uint64_t{0}) return;
  std::uint32_t set = 0;
  check(on.download(&set, in.set_of + first, 1), "download");
  throw invalid_input("set_of[" + std::to_string(first) + "] = " + std::to_string(set) + " is none of " + std::to_string(in.sets) +
                      " sets");
}

}  // namespace ballast::inline v0_2::gpu
