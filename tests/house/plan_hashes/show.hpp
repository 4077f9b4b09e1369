// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cinttypes>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// A line for each plan: planner, case, hash. A plan is hashed by what it consists of, in integers; doubles and the work of a search are not
// part of it. `put` is overloaded for each type of result, `show` takes any number of them.

namespace plan_hashes {

/// A cost under which long samples cost more than their tokens.
inline constexpr ballast::quadratic_cost square{.linear = 100, .quadratic = 1};

class digest {
 public:
  void append(std::uint64_t value) noexcept { hash_.append(value); }
  [[nodiscard]] std::uint64_t value() const noexcept { return hash_.value(); }

 private:
  ballast::fnv1a hash_;
};

template <class T>
  requires std::integral<T> || std::is_enum_v<T>
void put(digest& d, T value) {
  d.append(static_cast<std::uint64_t>(value));
}
inline void put(digest& d, ballast::certificate const& c) {
  put(d, c.value);
  put(d, c.lower_bound);
}
inline void put(digest& d, ballast::wide w) {
  put(d, w.high);
  put(d, w.low);
}
inline void put(digest& d, ballast::level const& l) {
  put(d, l.capacity);
  put(d, l.sp);
  put(d, l.recomputed_layers);
}
template <std::ranges::sized_range R>
void put(digest& d, R const& values) {
  put(d, std::ranges::size(values));
  for (auto const& value : values) put(d, value);
}
template <class Index>
void put(digest& d, ballast::groups<Index> const& groups) {
  put(d, groups.offsets);
  put(d, groups.members);
}
template <class A, class B, class... Rest>
void put(digest& d, A const& a, B const& b, Rest const&... rest) {
  put(d, a);
  put(d, b);
  (put(d, rest), ...);
}

/// All lines so far.
inline std::vector<std::string>& lines() {
  static std::vector<std::string> all;
  return all;
}
template <class... Parts>
void show(std::string const& planner, std::string const& name, Parts const&... parts) {
  digest d;
  (put(d, parts), ...);
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016" PRIx64, d.value());
  lines().push_back(planner + ' ' + name + ' ' + hash);
}

using numbers = std::vector<std::int64_t>;

/// A number in [low, high] from a seeded generator.
inline std::int64_t between(std::int64_t low, std::int64_t high, ballast::splitmix64& draw) {
  return low + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(high - low + 1));
}
inline numbers uniform(std::size_t count, std::int64_t low, std::int64_t high, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  numbers out(count);
  for (auto& value : out) value = between(low, high, draw);
  return out;
}
/// Most are short, a few come near to `longest`.
inline numbers long_tailed(std::size_t count, std::int64_t longest, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  numbers out(count);
  for (auto& value : out) {
    value = longest;
    for (int i = 0; i < 3; ++i) value = value * between(1, 4096, draw) / 4096;
    value = (std::max)(value, std::int64_t{1});
  }
  return out;
}
inline numbers few_distinct(std::size_t count, std::int64_t longest, std::uint64_t seed) {
  auto const kinds = uniform(7, 1, longest, seed);
  ballast::splitmix64 draw(seed);
  numbers out(count);
  for (auto& value : out) value = kinds[static_cast<std::size_t>(draw() % kinds.size())];
  return out;
}
/// Three that fill a pack and whose sizes mislead whoever sorts: all above a quarter.
inline numbers triplets(std::size_t packs, std::int64_t capacity, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  numbers out;
  for (std::size_t p = 0; p < packs; ++p) {
    auto const a = between(capacity / 4 + 1, capacity / 3, draw), b = between(capacity / 3, capacity / 2 - capacity / 12, draw);
    for (auto const value : {a, b, capacity - a - b}) out.push_back(value);
  }
  auto const order = ballast::random_permutation(out.size(), seed);
  numbers mixed;
  for (auto const i : order) mixed.push_back(out[i]);
  return mixed;
}

struct lengths_case {
  char const* name;
  numbers lengths;
  std::int64_t capacity;
};
/// What planners of data are given.
inline std::vector<lengths_case> data_cases() {
  return {{"long_tailed", long_tailed(700, 4096, 1), 4096},
          {"uniform", uniform(500, 1, 1000, 2), 1000},
          {"few_distinct", few_distinct(900, 1500, 3), 2048},
          {"triplets", triplets(40, 1000, 4), 1000},
          {"none", {}, 100}};
}

// One for each room; each adds its lines.
void packing();
void runs();
void layout();
void measures();
void balance();
void batching();
void levels();
void partition();
void pipeline();
void sharding();
void schedulers();
void chunks();
void streams();
void memory();
void recompute();
void staging();
void curriculum();
void loss();
void methods();
void plan();
void placement();
void traces(std::string const& folder);

}  // namespace plan_hashes
