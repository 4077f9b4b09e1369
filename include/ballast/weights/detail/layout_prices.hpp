// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/weights/layout_model.hpp>
#include <ballast/weights/layouts.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

inline constexpr activation_layout token_layouts[] = {activation_layout::replicated, activation_layout::sequence,
                                                      activation_layout::batch};  // those of a residual stream

/// Throws unless options are in range.
constexpr void require_valid(layout_setting const& o) {
  require_within("devices", o.devices, 1, 1 << 12);
  require_within("data", o.data, 1, 1 << 12);
  require_within("tokens", o.tokens, 1, std::int64_t{1} << 32);
  require_within("sequences", o.sequences, 0, std::int64_t{1} << 32);
  require_within("passes", o.passes, 1, 1 << 20);
  require_within("memory", o.memory, 0, std::int64_t{1} << 60);
  require_within("flops_per_s", o.flops_per_s, 1, std::int64_t{1} << 60);
  require_within("element_bytes", o.element_bytes, 1, 8);
  require_within("gradient_bytes", o.gradient_bytes, 0, 8);
  require_within("state_bytes", o.state_bytes, 0, 256);
  require_within("hidden.tensor", o.hidden.tensor, 0, 1000);
  require_within("hidden.expert", o.hidden.expert, 0, 1000);
  require_within("hidden.gradient", o.hidden.gradient, 0, 1000);
  require_within("tuning.points", o.tuning.points, 4, 1 << 16);
}

/// Throws unless the chain names its blocks, and they close what they open.
template <class = when_called>
void require_valid(layout_chain const& chain) {
  auto const place = [](std::size_t b, std::size_t v) { return sentence("blocks[", b, "][", v, "]"); };
  for (std::size_t b = 0; b < chain.blocks.size(); ++b) {
    bool open = false;
    require(!chain.blocks[b].empty(), [&] { return sentence("blocks[", b, "] is empty"); });
    for (std::size_t v = 0; v < chain.blocks[b].size(); ++v) {
      auto const& o = chain.blocks[b][v];
      require(!(o.opens && open) && !(o.closes && !open && !o.opens),
              [&] { return place(b, v) + (o.opens ? " opens what is open" : " closes what is not open"); });
      open = (open || o.opens) && !o.closes;
      for (auto const n : {o.width, o.makes, o.kept, o.units, o.flops})
        require(n >= 0 && n <= std::int64_t{1} << 40, [&] { return sentence(place(b, v), " has ", n, ", not in [0, 2^40]"); });
      auto const matrices = o.rule == layout_rule::weights;
      require(o.weights.size() <= 4 && (!matrices || !o.weights.empty()),
              [&] { return sentence(place(b, v), " has ", o.weights.size(), " weights"); });
      for (auto const& w : o.weights) {
        require(matrices != (w.kind == weight_kind::vector),
                [&] { return place(b, v) + (matrices ? " has a vector beside matrices" : " has a matrix, but not layout_rule::weights"); });
        for (auto const n : {w.in, w.out, w.matrices, w.visited, w.sent, w.router})
          require(n >= 0 && n <= 1 << 24, [&] { return sentence(place(b, v), " has a weight with ", n, ", not in [0, 2^24]"); });
        require(w.row_units >= 0 && w.column_units >= 0, [&] { return place(b, v) + " has a weight with negative units"; });
      }
    }
    require(!open, [&] { return sentence("blocks[", b, "] does not close what it opens"); });
  }
  for (std::size_t r = 0; r < chain.runs.size(); ++r) {
    require(chain.runs[r].block < chain.blocks.size(), [&] { return entry("runs", r, chain.runs[r].block) + " is no block"; });
    require(chain.runs[r].count > 0, [&] { return sentence("runs[", r, "].count = 0 must be positive"); });
  }
}

/// Picoseconds of a step or bytes of a device.
struct layout_price {
  std::int64_t time = 0, bytes = 0;
};

/// A sum that must stay below 2^62.
[[nodiscard]] constexpr std::int64_t layout_sum(std::int64_t a, std::int64_t b) {
  require(a < (std::int64_t{1} << 62) - b, [] { return "a plan takes 2^62 picoseconds or bytes, or more"; });
  return a + b;
}
[[nodiscard]] constexpr std::int64_t layout_product(std::int64_t a, std::int64_t b) {
  auto const p = checked(a) * checked(b);
  require(p.fits() && p.value < std::int64_t{1} << 62, [] { return "a plan takes 2^62 picoseconds or bytes, or more"; });
  return p.value;
}

/// What layouts of operators cost.
template <class = when_called>
class layout_prices {
 public:
  explicit layout_prices(layout_setting o) : o_(std::move(o)) {}

  /// Time of both passes over an edge: `numbers` of each token, made as `from` and read as `to`, with a gradient made as `gradient`.
  [[nodiscard]] std::int64_t edge(activation_layout from, activation_layout to, activation_layout gradient, std::int64_t numbers) const {
    return layout_sum(change(from, to, numbers), change(gradient, gradient_of(from), numbers));
  }
  /// States of a weight and its gradient exchange, and the work of its passes.
  [[nodiscard]] layout_price weight(layout_weight const& w, weight_place const& at) const {
    auto const split = at.layout != weight_layout::replicated;
    auto const parameters = layout_product(layout_product(w.in, w.out), w.matrices);
    auto const own = split ? divide_up(parameters, o_.devices) : parameters;
    layout_price out{.bytes = layout_product(own, o_.state_bytes)};
    if (w.kind != weight_kind::embedding && w.kind != weight_kind::vector)
      out.time = work(layout_product(layout_product(2 * w.in, w.out), w.visited), split || is_split(at.reads));
    // Devices that see other tokens average the gradient.
    add_gradient(out, own, !split && is_split(at.reads));
    out.bytes = layout_sum(out.bytes, layout_product(w.router, o_.state_bytes));
    if (w.router > 0) add_gradient(out, w.router, is_split(at.reads));
    if (at.layout == weight_layout::experts) {  // tokens to experts and back, and their gradients
      auto const all = divide_up(numbers_bytes(layout_product(w.in, w.sent)), o_.devices);
      auto const sent = collective_time(collective::all_to_all, all, {o_.devices, 1}, o_.links);
      out.time = layout_sum(out.time, layout_product(4 * o_.passes, exposed(sent, o_.hidden.expert)));
    }
    return out;
  }
  /// Time of the forward and the backward pass, which is twice as much, of an operator with `flops` a token.
  [[nodiscard]] std::int64_t work(std::int64_t flops, bool split) const {
    auto const all = layout_product(flops, o_.tokens);
    auto const each = static_cast<std::uint64_t>(split ? divide_up(all, o_.devices) : all);
    auto const rate = static_cast<std::uint64_t>(o_.flops_per_s);
    require(multiply(each, 3'000'000'000'000).high < rate, [] { return "an operator takes 2^62 picoseconds or more"; });
    auto const time = multiply_divide_up(each, 3'000'000'000'000, rate);
    require(time < std::uint64_t{1} << 62, [] { return "an operator takes 2^62 picoseconds or more"; });
    return layout_product(static_cast<std::int64_t>(time), o_.passes);
  }
  /// Bytes that are kept of `numbers` of each token.
  [[nodiscard]] std::int64_t kept(std::int64_t numbers, activation_layout at) const {
    auto const all = numbers_bytes(numbers);
    return is_split(at) ? divide_up(all, o_.devices) : all;
  }
  [[nodiscard]] bool divides(std::int64_t units, std::int64_t otherwise) const { return (units > 0 ? units : otherwise) % o_.devices == 0; }
  [[nodiscard]] bool allowed(activation_layout tokens) const {
    return tokens == activation_layout::replicated ? o_.replicated
           : tokens == activation_layout::sequence ? o_.sequence
                                                   : o_.batch && o_.sequences % o_.devices == 0;
  }
  [[nodiscard]] layout_setting const& options() const { return o_; }

 private:
  /// Time in which gradients are summed over devices that see other tokens: all, or those of other groups.
  void add_gradient(layout_price& to, std::int64_t parameters, bool own_tokens) const {
    rank_group const over = own_tokens ? rank_group{o_.devices * o_.data, 1} : rank_group{o_.data, o_.devices};
    auto const gradient = collective_time(collective::all_reduce, layout_product(parameters, o_.gradient_bytes), over, o_.links);
    to.time = layout_sum(to.time, exposed(gradient, o_.hidden.gradient));
  }
  [[nodiscard]] std::int64_t numbers_bytes(std::int64_t numbers) const {
    return layout_product(layout_product(numbers, o_.element_bytes), o_.tokens);
  }
  [[nodiscard]] std::int64_t exposed(std::int64_t time, std::int64_t hidden) const {
    return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(1000 - hidden), 1000));
  }
  [[nodiscard]] std::int64_t change(activation_layout from, activation_layout to, std::int64_t numbers) const {
    auto const c = change_layout(from, to, numbers_bytes(numbers), o_.devices);
    if (!c.exchanges) return 0;
    return layout_product(exposed(collective_time(c.how, c.bytes, {o_.devices, 1}, o_.links), o_.hidden.tensor), o_.passes);
  }

  layout_setting o_;
};

}  // namespace ballast::inline v0_2::detail
