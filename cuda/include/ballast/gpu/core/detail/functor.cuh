// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <type_traits>

// What every backend demands of functors, so that none accepts what another cannot run.

namespace ballast::inline v0_2::gpu::detail {

template <class F>
constexpr void require_functor() noexcept {
  static_assert(std::is_trivially_copyable_v<F>,
                "a functor or cost is copied to the device byte by byte: give it pointers to memory of the backend, no vectors");
}

// The most lanes that a block of this body has: its `most_lanes`, or what a device allows. The compiler shares out registers by it.
template <class Body>
inline constexpr unsigned most_lanes_of = 1024;
template <class Body>
  requires(Body::most_lanes > 0)
inline constexpr unsigned most_lanes_of<Body> = Body::most_lanes;

}  // namespace ballast::inline v0_2::gpu::detail
