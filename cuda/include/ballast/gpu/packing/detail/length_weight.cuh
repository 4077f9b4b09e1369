// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

// Shared by the packers that keep samples in place: the weight of a length under the options, and the errors for bad options.

namespace ballast::inline v0_2::gpu::detail {

/// The weight of sample i, in 1 … capacity; 0 if the length is not positive or too long.
template <class Length>
struct length_weight {
  Length const* lengths;
  std::int64_t largest;  // largest length before rounding
  std::int64_t multiple;

  BALLAST_HD std::uint64_t operator()(std::size_t i) const {
    auto const length = lengths[i];
    if (length <= 0 || static_cast<std::uint64_t>(length) > static_cast<std::uint64_t>(largest)) return 0;
    auto const tokens = static_cast<std::int64_t>(length);
    return static_cast<std::uint64_t>(multiple == 1 ? tokens : ballast::round_up(tokens, multiple));  // a multiple of 1 needs no division
  }
};

/// The options in the form that these packers need. Call `takes` first: if it returns false, the other members are undefined.
struct in_place_options {
  packing_options const& o;

  [[nodiscard]] bool takes() const {
    return o.capacity > 0 && o.sample_multiple > 0 && o.pack_multiple > 0 && o.pack_multiple <= o.capacity && only_reject();
  }
  [[nodiscard]] std::int64_t capacity() const { return ballast::round_down(o.capacity, o.pack_multiple); }
  [[nodiscard]] std::uint64_t max_samples() const {
    return o.max_samples != 0 ? o.max_samples : (std::numeric_limits<std::uint64_t>::max)();
  }
  template <class Length>
  [[nodiscard]] length_weight<Length> weight(Length const* lengths) const {
    return {lengths, ballast::round_down(capacity(), o.sample_multiple), o.sample_multiple};
  }
  /// Throws if `takes` returns false or the index type cannot number the samples.
  template <class Index>
  void require_valid(std::size_t count) const {
    ballast::require_valid(o);
    require(only_reject(), [] {
      return "the twins of next_fit and windowed_best_fit_decreasing take no over-size policy and no demanded number of packs";
    });
    require_index<Index>(count, "samples");
  }

 private:
  [[nodiscard]] bool only_reject() const { return o.oversize == oversize::reject && o.pack_count == 0 && o.pack_count_multiple == 1; }
};

}  // namespace ballast::inline v0_2::gpu::detail
