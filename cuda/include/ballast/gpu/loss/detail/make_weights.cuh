// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/loss/detail/total_words.cuh>
#include <ballast/loss/detail/power.hpp>
#include <ballast/loss/detail/quotient.hpp>
#include <ballast/loss/detail/weight_words.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/weights.hpp>

#include <cstddef>
#include <cstdint>

// The passes of weights.cuh.

namespace ballast::inline v0_2::gpu::detail {

// Makes the weight as a function of a count, from totals on the device.
struct make_weight {
  std::int64_t const* totals;
  std::int64_t const* part;
  ballast::detail::weight_request request;
  partial_totals const* counted;
  std::size_t sequences;
  sequence_weight* out;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t) const {
    auto const parts = ballast::detail::weigh_words(totals, part, request);
    auto const ratio = ballast::detail::rounded_quotient(parts.numerator, {0, parts.denominator});
    *out = {parts.numerator, parts.denominator, request.power, ratio, parts.weight};
    auto const in_scope = (request.normaliser.scope == loss_scope::step ? totals : part)[0];
    auto const too_many = in_scope < 0 || counted->tokens > static_cast<std::uint64_t>(in_scope);
    auto const bad = too_many || parts.fault != ballast::detail::weight_fault::none;
    *first_bad = counted->first_bad == none_bad && bad ? sequences : counted->first_bad;
  }
};

struct weigh_sequences {
  std::int64_t const* counts;
  sequence_weight const* weight;
  double* out;
  BALLAST_HD void operator()(std::size_t i) const { out[i] = counts[i] < ballast::detail::count_limit ? (*weight)(counts[i]) : 0.0; }
};

// Makes the request; returns false if something is out of range for any totals.
[[nodiscard]] inline bool make_request(loss_normaliser const& normaliser, gradient_path const& path, ballast::detail::weight_request& out) {
  auto const power = power_or_none(normaliser.power);
  if (power > ballast::detail::whole_exponent) return false;
  try {
    out = ballast::detail::request_of(normaliser, power, path);
  } catch (invalid_input const&) {
    return false;
  }
  return true;
}

}  // namespace ballast::inline v0_2::gpu::detail
