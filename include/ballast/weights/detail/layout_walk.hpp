// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/weights/layout_model.hpp>
#include <ballast/weights/layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::inline v0_2 {

/// @brief What the layouts of a block cost.
struct layout_cost {
  bool legal = true;           ///< whether all operators can work in their layouts, and these are allowed
  std::uint64_t broken = 0;    ///< if not: the first operator that cannot
  checked time = checked(0);   ///< picoseconds of a step
  checked bytes = checked(0);  ///< bytes of a device
};

namespace detail {

/// Walks through a block and adds up what each operator and each edge costs, by what each device holds.
template <class = when_called>
class layout_walk {
 public:
  layout_walk(layout_block const& block, block_layouts const& layouts, layout_setting const& options,
              std::vector<layout_exchange>* exchanges = nullptr)
      : block_(block), layouts_(layouts), o_(options), exchanges_(exchanges) {}

  [[nodiscard]] layout_cost cost() {
    if (layouts_.operators.size() != block_.size() || !stream(layouts_.entry) || !stream(layouts_.exit)) return {.legal = false};
    auto now = layouts_.entry;
    for (std::size_t v = 0; v < block_.size() && out_.legal; ++v) {
      out_.broken = here_ = v;
      auto const& o = block_[v];
      auto const& l = layouts_.operators[v];
      if (o.opens) {
        now = moved(now, l.residual, l.residual, o.width);
        added_ = l.residual;
        must(stream(added_));
      }
      now = o.rule == layout_rule::weights ? matrices(o, l, now) : single(o, l, now);
      if (o.closes) now = moved(now, added_, added_, o.makes);
    }
    here_ = block_.size();
    if (now != layouts_.exit) {
      must(!stream(now));
      moved(now, layouts_.exit, layouts_.exit, block_.back().makes);
    }
    return out_;
  }

 private:
  using at = activation_layout;

  void must(bool ok) { out_.legal = out_.legal && ok; }
  [[nodiscard]] bool stream(at l) const {
    return (l == at::replicated && o_.replicated) || (l == at::sequence && o_.sequence) ||
           (l == at::batch && o_.batch && o_.sequences % o_.devices == 0);
  }
  [[nodiscard]] bool part(at l) const { return l == at::sequence || l == at::batch || l == at::hidden; }
  [[nodiscard]] checked bytes_of(std::int64_t numbers) const { return checked(numbers) * checked(o_.tokens) * checked(o_.element_bytes); }
  [[nodiscard]] checked share(checked whole) const { return whole.fits() ? checked(divide_up(whole.value, o_.devices)) : whole; }
  void add_exchange(exchange_pass pass, collective how, checked bytes, rank_group const& group, std::int64_t hidden, std::int64_t calls) {
    must(bytes.fits() && bytes.value <= std::int64_t{1} << 60);
    if (!out_.legal) return;
    if (exchanges_ != nullptr && group.ranks > 1 && bytes.value > 0) exchanges_->push_back({here_, pass, how, bytes.value, group.ranks});
    auto const whole = static_cast<std::uint64_t>(collective_time(how, bytes.value, group, o_.links));
    auto const seen = multiply_divide_up(whole, static_cast<std::uint64_t>(1000 - hidden), 1000);
    out_.time = out_.time + checked(static_cast<std::int64_t>(seen)) * checked(calls);
  }
  // One direction of an edge. Whoever holds the whole has every part of it.
  void one_way(exchange_pass pass, at from, at to, std::int64_t numbers) {
    must(from == to || to != at::partial);
    if (from == to || from == at::replicated) return;
    auto const all = bytes_of(numbers);
    rank_group const group{o_.devices, 1};
    if (from == at::partial)
      return add_exchange(pass, part(to) ? collective::reduce_scatter : collective::all_reduce, all, group, o_.hidden.tensor, o_.passes);
    if (part(to)) return add_exchange(pass, collective::all_to_all, share(all), group, o_.hidden.tensor, o_.passes);
    add_exchange(pass, collective::all_gather, all, group, o_.hidden.tensor, o_.passes);
  }
  // Both directions; the gradient of a sum goes to each of its terms as it is.
  at moved(at from, at to, at gradient, std::int64_t numbers) {
    one_way(exchange_pass::forward, from, to, numbers);
    one_way(exchange_pass::backward, gradient, from == at::partial ? at::replicated : from, numbers);
    return to;
  }
  void add_work(checked flops, bool shared) {
    auto const all = flops * checked(o_.tokens), each = shared ? share(all) : all;
    must(each.fits());
    if (!out_.legal) return;
    auto const time =
        multiply_divide_up(static_cast<std::uint64_t>(each.value), 3'000'000'000'000, static_cast<std::uint64_t>(o_.flops_per_s));
    out_.time = out_.time + checked(static_cast<std::int64_t>(time)) * checked(o_.passes);
  }
  void add_kept(std::int64_t numbers, at l) { out_.bytes = out_.bytes + (part(l) ? share(bytes_of(numbers)) : bytes_of(numbers)); }

  void add_weight(layout_weight const& w, weight_place const& place) {
    auto const whole = place.layout == weight_layout::replicated;
    auto const all = checked(w.in) * checked(w.out) * checked(w.matrices), own = whole ? all : share(all);
    out_.bytes = out_.bytes + own * checked(o_.state_bytes);
    if (w.kind == weight_kind::matrix || w.kind == weight_kind::head || w.kind == weight_kind::experts)
      add_work(checked(2) * checked(w.in) * checked(w.out) * checked(w.visited), !whole || part(place.reads));
    // All devices whose copies of the weight see different tokens.
    auto const sum_gradient = [&](checked parameters, bool everyone) {
      rank_group const group{everyone ? o_.devices * o_.data : o_.data, everyone ? 1 : o_.devices};
      add_exchange(exchange_pass::gradients, collective::all_reduce, parameters * checked(o_.gradient_bytes), group, o_.hidden.gradient, 1);
    };
    sum_gradient(own, whole && part(place.reads));
    if (w.router > 0) {
      out_.bytes = out_.bytes + checked(w.router) * checked(o_.state_bytes);
      sum_gradient(checked(w.router), part(place.reads));
    }
    if (place.layout == weight_layout::experts)
      for (auto const pass : {exchange_pass::forward, exchange_pass::forward, exchange_pass::backward, exchange_pass::backward})
        add_exchange(pass, collective::all_to_all, share(checked(w.in) * checked(w.sent) * checked(o_.tokens) * checked(o_.element_bytes)),
                     {o_.devices, 1}, o_.hidden.expert, o_.passes);
  }

  at single(layout_operator const& o, operator_layouts const& l, at now) {
    auto const units = o.units > 0 ? o.units : o.width;
    auto const by_numbers = l.reads == at::hidden && o_.split && units % o_.devices == 0;
    must(l.makes == l.reads && l.weights.size() == o.weights.size());
    must(o.rule == layout_rule::tokens      ? stream(l.reads)
         : o.rule == layout_rule::sequences ? (stream(l.reads) && l.reads != at::sequence) || by_numbers
                                            : stream(l.reads) || by_numbers);
    if (!out_.legal) return now;
    moved(now, l.reads, l.reads, o.width);
    add_work(checked(o.flops), part(l.reads));
    add_kept(o.kept, l.reads);
    for (std::size_t i = 0; i < o.weights.size() && out_.legal; ++i) {
      must(l.weights[i] == weight_place{weight_layout::replicated, l.reads});
      add_weight(o.weights[i], l.weights[i]);
    }
    return l.makes;
  }

  // The gradient that a weight makes of its input, and its output; nothing where the weight cannot be held like that.
  [[nodiscard]] std::optional<std::pair<at, at>> effect(layout_weight const& w, weight_place const& p) const {
    auto const even = [&](std::int64_t units, std::int64_t otherwise) { return (units > 0 ? units : otherwise) % o_.devices == 0; };
    using kind = weight_kind;
    if (p.layout == weight_layout::replicated) {
      if (!o_.replicate || !stream(p.reads)) return {};
      return std::pair(p.reads, p.reads);
    }
    if (!o_.split || o_.devices == 1) return {};
    switch (p.layout) {
      case weight_layout::columns:
        if ((w.kind != kind::matrix && w.kind != kind::embedding) || p.reads != at::replicated || !even(w.column_units, w.out)) return {};
        return std::pair(w.kind == kind::matrix ? at::partial : at::replicated, at::hidden);
      case weight_layout::rows:
        if ((w.kind != kind::matrix && w.kind != kind::head) || p.reads != at::hidden || !even(w.row_units, w.in)) return {};
        return std::pair(at::hidden, at::partial);
      case weight_layout::vocabulary:
        if (p.reads != at::replicated) return {};
        if (w.kind == kind::head && even(w.column_units, w.out)) return std::pair(at::partial, at::hidden);
        if (w.kind == kind::embedding && even(w.row_units, w.in)) return std::pair(at::replicated, at::partial);
        return {};
      case weight_layout::experts:
        if (w.kind != kind::experts || !part(p.reads) || !stream(p.reads) || !even(w.row_units, w.matrices)) return {};
        return std::pair(p.reads, p.reads);
      case weight_layout::replicated: break;
    }
    return {};
  }

  at matrices(layout_operator const& o, operator_layouts const& l, at now) {
    must(l.weights.size() == o.weights.size());
    std::vector<std::pair<at, at>> inputs;  // each with its gradient, once
    std::vector<at> kept;
    bool parts = false;
    for (std::size_t i = 0; i < o.weights.size() && out_.legal; ++i) {
      auto const& [layout, reads] = l.weights[i];
      auto const does = effect(o.weights[i], l.weights[i]);
      must(does.has_value());
      if (!out_.legal) return now;
      auto const [gradient, made] = *does;
      if (std::pair const use{reads, gradient}; std::find(inputs.begin(), inputs.end(), use) == inputs.end()) {
        inputs.push_back(use);
        moved(now, reads, gradient, o.width);
      }
      if (std::find(kept.begin(), kept.end(), reads) == kept.end()) {
        kept.push_back(reads);
        add_kept(o.kept, reads);
      }
      add_weight(o.weights[i], l.weights[i]);
      moved(made, l.makes, l.makes == at::partial ? at::replicated : l.makes, o.weights[i].out);
      parts = parts || part(reads) || part(made);
    }
    must(l.makes == at::partial || l.makes == at::hidden || stream(l.makes) || o.weights.size() == 1);
    add_work(checked(o.flops), parts);
    return l.makes;
  }

  layout_block const& block_;
  block_layouts const& layouts_;
  layout_setting const& o_;
  std::vector<layout_exchange>* exchanges_;
  layout_cost out_{};
  std::uint64_t here_ = 0;
  at added_{};
};

}  // namespace detail

}  // namespace ballast::inline v0_2
