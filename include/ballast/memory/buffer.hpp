// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// @file
/// @brief `buffer`: memory that is needed from one time to another; `memory_layout`: the address of each.

namespace ballast::inline v0_2 {

/// @brief Memory that is in use at the times `lower` … `upper - 1`. Times are any integers, such as positions in an order of operators.
struct buffer {
  std::int64_t lower = 0;      ///< first time at which it is in use
  std::int64_t upper = 0;      ///< first time at which it is not in use any more, above `lower`
  std::int64_t size = 0;       ///< bytes, not negative
  std::int64_t alignment = 1;  ///< its address is a multiple of this, at least 1
  std::int64_t fixed = -1;     ///< the address that it must have; -1: any

  friend constexpr bool operator==(buffer const&, buffer const&) = default;
};

/// @brief The argument that proves a lower bound on the height of a layout.
enum class layout_bound : std::uint8_t {
  max_load,         ///< the buffers in use at one time, side by side
  one_buffer,       ///< the size of one buffer, above its fixed address if it has one
  fixed_addresses,  ///< two buffers overlap at their fixed addresses, so there is no layout of any height
  search,           ///< a search went through all layouts of less height
};

/// @brief The name of a bound for reports. @param bound any of them @return a word, such as "max-load"
[[nodiscard]] constexpr std::string_view to_string(layout_bound bound) noexcept {
  switch (bound) {
    case layout_bound::max_load: return "max-load";
    case layout_bound::one_buffer: return "one-buffer";
    case layout_bound::fixed_addresses: return "fixed-addresses";
    case layout_bound::search: return "search";
  }
  return {};
}

/// @brief A lower bound on the height of every layout, and the argument that proves it.
struct height_bound {
  std::int64_t height = 0;                      ///< bytes
  layout_bound bound = layout_bound::max_load;  ///< the argument
  friend constexpr bool operator==(height_bound const&, height_bound const&) = default;
};

/// @brief An address for each buffer, such that buffers that are in use at the same time do not overlap.
struct memory_layout {
  /// `feasible`: the layout is valid and within the capacity. `infeasible`: no layout is; `bound` says why. `unknown`: neither is known.
  ballast::status status = ballast::status::unknown;
  certificate height;  ///< bytes from address 0 to the highest end of a buffer, 0 without a layout, and a lower bound for every layout
  layout_bound bound = layout_bound::max_load;  ///< the argument that proves `height.lower_bound`
  std::vector<std::int64_t> offsets;            ///< address of each buffer; empty unless feasible
  std::uint64_t nodes = 0;                      ///< decisions of the search
  bool complete = true;                         ///< false if a requested stop or the wall clock ended the search

  friend bool operator==(memory_layout const&, memory_layout const&) = default;
};

namespace detail {

/// Throws unless all buffers are as their definition says, and no layout without needless gaps reaches 2^62 bytes.
template <class = when_called>
void check_buffers(std::span<buffer const> buffers) {
  constexpr auto most = std::int64_t{1} << 62;
  require_index<std::uint32_t>(buffers.size(), "buffers");
  std::int64_t sum = 0;
  auto const member = [](std::size_t i, char const* name, std::int64_t value) { return sentence("buffers[", i, "].", name, " = ", value); };
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto const& b = buffers[i];
    require(b.upper > b.lower, [&] { return sentence(member(i, "upper", b.upper), " must exceed lower = ", b.lower); });
    require(b.size >= 0, [&] { return member(i, "size", b.size) + " must not be negative"; });
    require(b.alignment >= 1, [&] { return member(i, "alignment", b.alignment) + " must be at least 1"; });
    require(b.fixed >= -1, [&] { return member(i, "fixed", b.fixed) + " must be an address, or -1 for any"; });
    require(b.fixed < 0 || b.fixed % b.alignment == 0,
            [&] { return sentence(member(i, "fixed", b.fixed), " must be a multiple of alignment = ", b.alignment); });
    for (auto const part : {b.size, b.alignment, (std::max)(b.fixed, std::int64_t{0})}) {
      require(part < most - sum,
              [&] { return member(i, "size", b.size) + " brings the sum of sizes, alignments and addresses to 2^62 or more"; });
      sum += part;
    }
  }
}

}  // namespace detail

}  // namespace ballast::inline v0_2
