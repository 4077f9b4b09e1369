// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#if defined(__CUDACC__)  // the other backends need no CUB
#include <ballast/gpu/core/on_stream.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cub/device/device_radix_sort.cuh>
#endif

/// @file
/// @brief The sorts of `on_stream`, by CUB: what calls them includes this, and nothing else pays for reading CUB.

#if defined(__CUDACC__)
namespace ballast::inline v0_2::gpu {

template <int... Build>
template <class Key, class Value>
cudaError_t basic_on_stream<Build...>::sort_descending(void* temp, std::size_t& bytes, Key const* keys_in, Key* keys_out,
                                                       Value const* values_in, Value* values_out, std::size_t count, int bits) const {
  static_assert(std::is_unsigned_v<Key>);
  using counted = std::conditional_t<sizeof(Value) <= 4, std::uint32_t, std::uint64_t>;  // CUB has larger tiles for 32-bit positions
  return detail::returned(cub::DeviceRadixSort::SortPairsDescending(temp, bytes, keys_in, keys_out, values_in, values_out,
                                                                    static_cast<counted>(count), 0, bits, stream));
}
}  // namespace ballast::inline v0_2::gpu
#endif
