// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/packing/detail/fit_samples.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>

// The over-size policy on a device: one pass adds up what it does to all samples, and if it does anything, a scan and a search find the
// samples that are left out, or the pieces.

namespace ballast::inline v0_2::gpu::detail {

// What a policy does to one sample, or to all.
struct fit_sums {
  std::uint64_t tokens = 0;   // 2^63 or more if a length is bad
  std::uint64_t trained = 0;  // tokens that are trained on
  std::uint64_t listed = 0;   // 1 for a sample that is left out of the packs of others; otherwise the pieces behind the first
};
struct add_fits {
  BALLAST_HD fit_sums operator()(fit_sums a, fit_sums b) const {
    auto const tokens = a.tokens + b.tokens;
    return {tokens < a.tokens ? ~std::uint64_t{0} : tokens, a.trained + b.trained, a.listed + b.listed};
  }
};

template <class Length>
struct fit_sample {
  Length const* lengths;
  std::uint64_t largest;
  ballast::oversize policy;
  BALLAST_HD fit_sums operator()(std::size_t i) const {
    if (lengths[i] <= 0) return {~std::uint64_t{0}, 0, 0};
    auto const tokens = static_cast<std::uint64_t>(lengths[i]);
    if (tokens <= largest) return {tokens, tokens, 0};
    switch (policy) {
      case oversize::truncate: return {tokens, largest, 0};
      case oversize::split: return {tokens, tokens, (tokens - 1) / largest};
      case oversize::alone: return {tokens, tokens, 1};
      default: return {tokens, 0, 1};
    }
  }
};

template <class Length, class Index>
struct listed_of_sample {
  fit_sample<Length> fit;
  BALLAST_HD Index operator()(std::size_t i) const { return static_cast<Index>(fit(i).listed); }
};

// Writes which sample entry j of a list is about. `before` has the number of entries of earlier samples.
template <class Length, class Index>
struct write_listed {
  Length const* lengths;
  std::size_t count;
  std::int64_t largest;
  Index const* before;
  Index* samples;        // null if there are pieces
  sample_piece* pieces;  // null if there are none
  BALLAST_HD void operator()(std::size_t j) const {
    auto const sample = first_where(count, [&](std::uint64_t i) { return before[i] > j; }) - 1;
    if (samples != nullptr) samples[j] = static_cast<Index>(sample);
    if (pieces == nullptr) return;
    auto const offset = (static_cast<std::int64_t>(j - before[sample]) + 1) * largest;
    auto const left = static_cast<std::int64_t>(lengths[sample]) - offset;
    pieces[j] = {sample, offset, left < largest ? left : largest};
  }
};

// Returns the sample with number `k` among those that are not listed.
template <class Index>
[[nodiscard]] BALLAST_HD std::size_t unlisted(Index const* listed, std::size_t count, std::size_t k) {
  return k + static_cast<std::size_t>(first_where(count, [&](std::uint64_t r) { return listed[r] - r > k; }));
}

// Writes the length of item k: of the samples that are not listed, and then of the pieces.
template <class Length, class Index>
struct write_item {
  Length const* lengths;
  std::size_t count;
  std::uint64_t largest;
  Index const* listed;
  std::size_t listed_count;
  sample_piece const* pieces;
  Length* items;
  BALLAST_HD void operator()(std::size_t k) const {
    if (k >= count) {
      items[k] = static_cast<Length>(pieces[k - count].length);
      return;
    }
    auto const length = lengths[unlisted(listed, listed_count, k)];
    items[k] = static_cast<std::uint64_t>(length) > largest ? static_cast<Length>(largest) : length;
  }
};

// What a policy did: `listed` are the samples that are set aside or alone.
template <class On, class Index>
struct fitted_lengths {
  fit_sums sums;
  array<Index, On> listed;
  array<sample_piece, On> pieces;
};

template <class Index, class On, class Length>
[[nodiscard]] fitted_lengths<On, Index> fit_lengths(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  auto const refuse = [&] { (void)ballast::apply_oversize<std::uint64_t>(fetch(on, lengths, count), options); };  // throws with the reason
  auto const largest = ballast::detail::largest_item(options);
  if (largest == 0 && ballast::detail::cuts(options.oversize)) refuse();
  fit_sample<Length> const fit{lengths, static_cast<std::uint64_t>(largest), options.oversize};
  array<fit_sums, On> const found(on, 1);
  call(on, "apply_oversize",
       [&](void* temp, std::size_t& bytes) { return on.reduce(temp, bytes, mapped(fit), found.data(), count, fit_sums{}, add_fits{}); });
  auto const sums = fetch_one(on, found.data());
  if (sums.tokens >> 63 != 0 || (sums.listed != 0 && options.oversize == oversize::reject)) refuse();
  auto const split = options.oversize == oversize::split;
  if (split) require_index<Index>(count + sums.listed, "pieces");
  auto const listed = static_cast<std::size_t>(sums.listed);
  fitted_lengths<On, Index> out{sums, {on, split ? 0 : listed}, {on, split ? listed : 0}};
  if (listed == 0) return out;

  array<Index, On> const before(on, count);
  call(on, "apply_oversize", [&](void* temp, std::size_t& bytes) {
    return on.exclusive_sum(temp, bytes, mapped(listed_of_sample<Length, Index>{fit}), before.data(), count, Index{0});
  });
  check(on.for_each(listed, write_listed<Length, Index>{lengths, count, largest, before.data(), split ? nullptr : out.listed.data(),
                                                        split ? out.pieces.data() : nullptr}),
        "apply_oversize");
  return out;
}

}  // namespace ballast::inline v0_2::gpu::detail
