// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/memory/detail/lists.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

// Some steps of an order as a problem of their own: the operators before them have run, those behind them run later.
template <class = when_called>
class order_parts {
 public:
  explicit order_parts(order_problem const& p) : p_(p), local_(p.size(), none), storage_(p.bytes.size(), none) {}

  // Steps begin ... end - 1 of an order; `step` is its inverse, `memory` what is in use before `begin`.
  [[nodiscard]] order_problem take(std::span<std::uint32_t const> order, std::span<std::uint32_t const> step, std::size_t begin,
                                   std::size_t end, std::int64_t memory) {
    ids_.assign(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(ids_.begin(), ids_.end());
    for (std::uint32_t i = 0; i < ids_.size(); ++i) local_[ids_[i]] = i;
    part_ = {};
    part_.start = memory;
    for (auto const v : ids_) {
      part_.need.push_back(p_.need[v]);
      for (auto const u : p_.before[v])
        if (local_[u] != none) part_.before.members.push_back(local_[u]);
      part_.before.offsets.push_back(part_.before.members.size());
      for (auto const s : p_.touched[v])
        if (storage_[s] == none) add_storage(s, step, end);
    }
    part_.after = transposed(part_.before, ids_.size());
    part_.touched = transposed(part_.users, ids_.size());
    for (auto const v : ids_) {
      local_[v] = none;
      for (auto const s : p_.touched[v]) storage_[s] = none;
    }
    return std::move(part_);
  }
  // Writes an order of the part over the steps that it was taken from.
  void put(std::span<std::uint32_t const> part, std::span<std::uint32_t> order, std::span<std::uint32_t> step, std::size_t begin) const {
    for (std::size_t i = 0; i < part.size(); ++i) {
      order[begin + i] = ids_[part[i]];
      step[order[begin + i]] = static_cast<std::uint32_t>(begin + i);
    }
  }

 private:
  static constexpr auto none = order_problem::none;

  void add_storage(std::uint32_t s, std::span<std::uint32_t const> step, std::size_t end) {
    storage_[s] = 0;  // seen
    auto const maker = p_.maker[s] == none ? none : local_[p_.maker[s]];
    bool kept = p_.kept[s] != 0;
    users_.clear();
    for (auto const u : p_.users[s]) {
      kept = kept || step[u] >= end;
      if (local_[u] != none) users_.push_back(local_[u]);
    }
    if (kept && maker == none) return;
    if (kept) users_.assign(1, maker);
    part_.bytes.push_back(p_.bytes[s]);
    part_.maker.push_back(maker);
    part_.kept.push_back(kept ? 1 : 0);
    part_.users.push_back(users_);
  }

  order_problem const& p_;
  std::vector<std::uint32_t> local_, storage_;  // number of each operator in the part; whether a storage was seen
  operator_order ids_, users_;
  order_problem part_;
};

// The first steps of the parts into which all orders fall: an operator that must run behind all before it and before all behind it in
// program order has the same step in every order, and is a part by itself.
template <class = when_called>
[[nodiscard]] std::vector<std::size_t> part_starts(order_problem const& p) {
  auto const n = p.size();
  std::vector<std::uint8_t> covered(n, 0), split(n + 1, 0);
  std::size_t ends = 0;  // operators so far that none so far must follow
  for (std::size_t v = 0; v < n; ++v, ++ends) {
    for (auto const u : p.before[v])
      if (covered[u] == 0) covered[u] = 1, --ends;
    if (ends == 0) ++split[v];
  }
  covered.assign(n, 0);
  ends = 0;
  for (std::size_t v = n; v-- > 0; ++ends) {
    for (auto const u : p.after[v])
      if (covered[u] == 0) covered[u] = 1, --ends;
    if (ends == 0) ++split[v];
  }
  std::vector<std::size_t> out;
  for (std::size_t v = 0; v < n; ++v)
    if (v == 0 || split[v] == 2 || split[v - 1] == 2) out.push_back(v);
  out.push_back(n);
  return out;
}

}  // namespace ballast::inline v0_2::detail
