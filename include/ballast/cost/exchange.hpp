// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief `layer_exchange`: what a layer exchanges, for what and when, and how long exchanges keep a device waiting.

namespace ballast::inline v0_2 {

/// @brief What an exchange is for.
enum class traffic : std::uint8_t {
  tensor,      ///< activations between the devices of a tensor-parallel group
  kept_input,  ///< sequence parallelism: inputs of which a device kept its part, gathered again for the gradients of the weights
  context,     ///< keys, values and their gradients in a ring; with Ulysses also queries and outputs
  expert,      ///< tokens to their experts and back
  gradient,    ///< gradients of parameters
  parameter,   ///< parameters
};

/// @brief When an exchange takes place.
enum class exchange_phase : std::uint8_t {
  forward,   ///< in the forward pass of each micro-batch
  backward,  ///< in the backward pass of each micro-batch, recomputation included
  step,      ///< once in a training step
};

/// @brief One kind of exchange of a layer: a number of equal calls of a collective.
struct layer_exchange {
  traffic what{};          ///< what it is for
  collective how{};        ///< the collective
  rank_group over{};       ///< the ranks that take part
  exchange_phase when{};   ///< when it takes place
  std::int64_t bytes = 0;  ///< bytes of one call, counted as `collective` says
  std::int64_t calls = 1;  ///< number of calls
  friend constexpr bool operator==(layer_exchange const&, layer_exchange const&) = default;
};

/// @brief The share of each kind of exchange that computation hides, in thousandths. Default: nothing is hidden.
struct hidden_share {
  std::int64_t tensor = 0;      ///< of `traffic::tensor`, in [0, 1000], as all others
  std::int64_t kept_input = 0;  ///< of `traffic::kept_input`
  std::int64_t context = 0;     ///< of `traffic::context`
  std::int64_t expert = 0;      ///< of `traffic::expert`
  std::int64_t gradient = 0;    ///< of `traffic::gradient`
  std::int64_t parameter = 0;   ///< of `traffic::parameter`
  friend constexpr bool operator==(hidden_share const&, hidden_share const&) = default;
};

/// @brief How long a device waits for exchanges, in picoseconds.
struct exchange_time {
  std::int64_t forward = 0;   ///< in the forward pass of each micro-batch
  std::int64_t backward = 0;  ///< in the backward pass of each micro-batch
  std::int64_t step = 0;      ///< once in a training step
  friend constexpr bool operator==(exchange_time const&, exchange_time const&) = default;
};

/// @brief The time of exchanges that computation does not hide.
/// @param exchanges  the exchanges of a layer or of several
/// @param over       the links
/// @param hidden     the share of each kind that is hidden
/// @return picoseconds, those of each exchange rounded up; the exchanges follow each other
/// @throws invalid_input as `collective_time`, if a share is out of range, or if a sum reaches 2^63
/// @par Determinism
/// All arithmetic is in integers.
template <class = when_called>
[[nodiscard]] inline exchange_time exposed_time(std::span<layer_exchange const> exchanges, fabric const& over,
                                                hidden_share const& hidden = {}) {
  std::array const shares{hidden.tensor, hidden.kept_input, hidden.context, hidden.expert, hidden.gradient, hidden.parameter};
  constexpr std::array names{"tensor", "kept_input", "context", "expert", "gradient", "parameter"};
  for (std::size_t i = 0; i < shares.size(); ++i) detail::require_within(names[i], shares[i], 0, 1000);
  exchange_time out;
  for (auto const& e : exchanges) {
    auto const whole = checked(collective_time(e.how, e.bytes, e.over, over)) * checked(e.calls);
    auto const share = static_cast<std::uint64_t>(1000 - shares[static_cast<std::size_t>(e.what)]);
    auto& sum = e.when == exchange_phase::forward ? out.forward : e.when == exchange_phase::backward ? out.backward : out.step;
    auto const more =
        whole.fits()
            ? checked(sum) + checked(static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(whole.value), share, 1000)))
            : whole;
    require(more.fits(), [] { return std::string("exchanges take 2^63 picoseconds or more"); });
    sum = more.value;
  }
  return out;
}

}  // namespace ballast::inline v0_2
