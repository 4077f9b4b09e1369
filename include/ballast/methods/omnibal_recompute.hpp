// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief OmniBal's memory balance: bytes per layer of each kind, from two probes, and how many layers each stage recomputes.

namespace ballast::inline v0_2::omnibal {

/// @brief Memory that the published code leaves free: bytes.
inline constexpr std::int64_t default_reserve = std::int64_t{3} << 30;

/// @brief A probe of one stage: layers that were released from recomputation, and the memory that this took.
struct memory_probe {
  std::int64_t vision = 0;    ///< number of released vision layers
  std::int64_t language = 0;  ///< number of released language layers
  std::int64_t bytes = 0;     ///< memory that the release took, not negative
};

/// @brief Memory that one layer takes if it is not recomputed.
struct layer_bytes {
  std::int64_t vision = std::int64_t{2} << 30;    ///< bytes of a vision layer; the default is the published guess
  std::int64_t language = std::int64_t{1} << 30;  ///< bytes of a language layer; the default is the published guess

  friend constexpr bool operator==(layer_bytes const&, layer_bytes const&) = default;
};

/// @brief Solves the two equations of the probes for the bytes of a layer of each kind.
///
/// The results are rounded up and at least 1. A kind that the probes do not determine keeps its guess.
///
/// @param probes  probes of the first and the last stage; counts at most 2^15, bytes at most 2^45
/// @param guess   bytes of a kind that is not measured
/// @return bytes of a layer of each kind
/// @throws invalid_input if a number is out of range
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section on adaptive re-computation, and its code.
template <class = when_called>
[[nodiscard]] inline layer_bytes solve_probes(std::array<memory_probe, 2> const& probes, layer_bytes const& guess = {}) {
  for (std::size_t i = 0; i < 2; ++i) {
    auto const within = [&](char const* field, std::int64_t value, std::int64_t most) {
      require(value >= 0 && value <= most, [&] {
        return "probes[" + std::to_string(i) + "]." + field + " = " + std::to_string(value) + " must be in [0, " + std::to_string(most) +
               "]";
      });
    };
    within("vision", probes[i].vision, 1 << 15);
    within("language", probes[i].language, 1 << 15);
    within("bytes", probes[i].bytes, std::int64_t{1} << 45);
  }
  auto const up = [](std::int64_t a, std::int64_t b) { return (std::max)(a / b + (a % b > 0 ? 1 : 0), std::int64_t{1}); };
  auto const& [a, b] = probes;
  auto const determinant = a.vision * b.language - b.vision * a.language;
  auto const sign = determinant < 0 ? -1 : 1;
  if (determinant != 0)
    return {up(sign * (a.bytes * b.language - b.bytes * a.language), sign * determinant),
            up(sign * (a.vision * b.bytes - b.vision * a.bytes), sign * determinant)};
  auto out = guess;
  for (auto const& p : probes) {
    if (p.language == 0 && p.vision > 0) out.vision = up(p.bytes, p.vision);
    if (p.vision == 0 && p.language > 0) out.language = up(p.bytes, p.language);
  }
  return out;
}

/// @brief Returns how many layers of a stage the adaptive rule recomputes, counted from the stage's first layer.
///
/// The rule releases language layers before vision layers, regardless of the time that a byte of each saves, and keeps one layer in
/// reserve. `keep_tensors` (recompute/keep_tensors.hpp) makes the best use of the same memory.
///
/// @param vision    number of vision layers of the stage
/// @param language  number of language layers of the stage
/// @param room      memory that is free if all layers are recomputed, minus a reserve (`default_reserve`)
/// @param bytes     bytes of a released layer of each kind, positive
/// @return the number of recomputed layers
/// @throws invalid_input if a count is negative or a size not positive
/// @par Source
/// As `solve_probes`.
template <class = when_called>
[[nodiscard]] inline std::int64_t recomputed_layers(std::int64_t vision, std::int64_t language, std::int64_t room,
                                                    layer_bytes const& bytes) {
  require(vision >= 0 && language >= 0,
          [&] { return "vision = " + std::to_string(vision) + " and language = " + std::to_string(language) + " must not be negative"; });
  require(bytes.vision > 0 && bytes.language > 0,
          [&] { return "bytes = {" + std::to_string(bytes.vision) + ", " + std::to_string(bytes.language) + "} must be positive"; });
  if (room < 0) return vision + language;
  auto const first = room / bytes.language;
  auto const all_language = vision > 0 && first >= language;
  auto const released = all_language ? language + (room - language * bytes.language) / bytes.vision - 1 : first - 1;
  return (std::max)(vision + language - (std::max)(released, std::int64_t{0}), std::int64_t{0});
}

}  // namespace ballast::inline v0_2::omnibal
