// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::inline v0_2::detail {

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

}  // namespace ballast::inline v0_2::detail
