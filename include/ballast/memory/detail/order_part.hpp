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
  explicit order_parts(order_problem const& p)
      : p_(p), local_(p.size(), none), number_(p.bytes.size(), none), last_(p.bytes.size(), none) {}

  // Follows another order of all operators, of which `step` is the inverse.
  void follow(std::span<std::uint32_t const> step) {
    for (std::size_t s = 0; s < last_.size(); ++s) {
      if (p_.kept[s] != 0) continue;
      last_[s] = 0;
      for (auto const u : p_.users[s]) last_[s] = (std::max)(last_[s], step[u]);
    }
  }

  // Steps begin ... end - 1 of the order; `memory` is in use before `begin`.
  [[nodiscard]] order_problem take(std::span<std::uint32_t const> order, std::size_t begin, std::size_t end, std::int64_t memory) {
    read(order, begin, end);
    for (std::uint32_t i = 0; i < ids_.size(); ++i) local_[ids_[i]] = i;
    part_ = {};
    part_.start = memory;
    for (auto const v : ids_) {
      part_.need.push_back(p_.need[v]);
      for (auto const u : p_.before[v])
        if (local_[u] != none) part_.before.members.push_back(local_[u]);
      part_.before.offsets.push_back(part_.before.members.size());
      for (auto const s : p_.touched[v]) touch(s, v, end);
      part_.touched.offsets.push_back(part_.touched.members.size());
      work_ += 10 + p_.before[v].size() + p_.touched[v].size();
    }
    part_.after = transposed(part_.before, ids_.size());
    part_.users = transposed(part_.touched, part_.bytes.size());
    for (auto const v : ids_) {
      local_[v] = none;
      for (auto const s : p_.touched[v]) number_[s] = none;
    }
    return std::move(part_);
  }
  // Writes an order of the part of steps begin ... end - 1 over these steps.
  void put(std::span<std::uint32_t const> part, std::span<std::uint32_t> order, std::span<std::uint32_t> step, std::size_t begin) {
    read(order, begin, begin + part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      order[begin + i] = ids_[part[i]];
      step[order[begin + i]] = static_cast<std::uint32_t>(begin + i);
    }
    auto const first = static_cast<std::uint32_t>(begin), end = static_cast<std::uint32_t>(begin + part.size());
    auto const each_ending = [&](auto const& set) {  // the last user stays within these steps
      for (auto const v : ids_)
        for (auto const s : p_.touched[v])
          if (last_[s] >= first && last_[s] < end) set(s, step[v]);
    };
    for (auto const v : ids_) work_ += 10 + p_.before[v].size() + p_.touched[v].size();
    each_ending([&](std::uint32_t s, std::uint32_t) { last_[s] = first; });
    each_ending([&](std::uint32_t s, std::uint32_t at) { last_[s] = (std::max)(last_[s], at); });
  }
  // The operators of the part that was taken last, by their numbers in it.
  [[nodiscard]] std::span<std::uint32_t const> operators() const noexcept { return ids_; }
  // Operations since it was asked for.
  [[nodiscard]] std::uint64_t work() noexcept { return std::exchange(work_, 0); }

 private:
  static constexpr auto none = order_problem::none, skipped = none - 1;

  void read(std::span<std::uint32_t const> order, std::size_t begin, std::size_t end) {
    ids_.assign(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(ids_.begin(), ids_.end());
  }
  // Operator v of the part uses storage s. A storage that was there before and is needed behind the part is left out.
  void touch(std::uint32_t s, std::uint32_t v, std::size_t end) {
    bool const kept = last_[s] >= end;
    auto const maker = p_.maker[s] == none ? none : local_[p_.maker[s]];
    if (number_[s] == none) {
      number_[s] = kept && maker == none ? skipped : static_cast<std::uint32_t>(part_.bytes.size());
      if (number_[s] == skipped) return;
      part_.bytes.push_back(p_.bytes[s]);
      part_.maker.push_back(maker);
      part_.kept.push_back(kept ? 1 : 0);
    }
    if (number_[s] != skipped && (!kept || maker == local_[v])) part_.touched.members.push_back(number_[s]);
  }

  order_problem const& p_;
  std::vector<std::uint32_t> local_, number_;  // of each operator and of each storage in the part
  std::vector<std::uint32_t> last_;            // of each storage, the step of its last user; `none` if it is kept
  operator_order ids_;
  order_problem part_;
  std::uint64_t work_ = 0;
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
