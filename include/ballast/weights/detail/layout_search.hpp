// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/weights/detail/layout_fronts.hpp>
#include <ballast/weights/detail/layout_prices.hpp>
#include <ballast/weights/layout_model.hpp>
#include <ballast/weights/layouts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// All pairs of time and bytes of a block, for each layout of its input and output, by dynamic programming from operator to operator.
template <class = when_called>
class block_layout_search {
 public:
  block_layout_search(layout_block const& block, layout_prices<> const& prices) : block_(block), prices_(prices) {
    for (auto const& o : block) options_.push_back(useful(options_of(o)));
    for (std::uint32_t entry = 0; entry < 3; ++entry)
      if (prices.allowed(token_layouts[entry])) search_from(entry);
    for (auto& f : points_) keep_best(f);
  }

  [[nodiscard]] layout_matrix const& points() const { return points_; }
  [[nodiscard]] std::uint64_t evaluated() const { return evaluated_; }
  /// The layouts of a point of an entry of `points`.
  [[nodiscard]] block_layouts layouts_of(std::uint32_t entry, std::uint32_t point) const {
    auto const& p = points_[entry][point];
    block_layouts out{
        .block = 0, .entry = token_layouts[entry / 3], .exit = token_layouts[entry % 3], .operators = {}, .time = p.time, .bytes = p.bytes};
    for (auto at = p.left; at != none; at = steps_[at].before) {
      auto const& s = steps_[at];
      out.operators.push_back(options_[s.op][s.option].layouts);
      out.operators.back().residual = token_layouts[s.residual];
    }
    std::reverse(out.operators.begin(), out.operators.end());
    return out;
  }

 private:
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();
  struct option {  // of an operator, whatever comes before it
    operator_layouts layouts{};
    layout_price price{};
    std::vector<std::pair<activation_layout, activation_layout>> reads{};  // different layouts of the input and its gradient
  };
  struct step {
    std::uint32_t before = none, op = 0, option = 0, residual = 0;
  };
  using states = std::array<layout_front, 15>;  // by layout of what is added later, and layout of the activation

  [[nodiscard]] static std::size_t state(std::uint32_t residual, activation_layout at) {
    return 5 * std::size_t{residual} + static_cast<std::size_t>(at);
  }

  [[nodiscard]] std::vector<weight_place> places_of(layout_weight const& w) const {
    std::vector<weight_place> out;
    auto const& o = prices_.options();
    auto const add = [&](weight_layout l, activation_layout tokens) {
      if (auto const use = use_of(w.kind, l, tokens); use.legal) out.push_back({l, use.reads});
    };
    for (auto const t : token_layouts)
      if (o.replicate && prices_.allowed(t)) add(weight_layout::replicated, t);
    if (!o.split || o.devices == 1) return out;
    auto const rows = prices_.divides(w.row_units, w.in), columns = prices_.divides(w.column_units, w.out);
    if (columns) add(weight_layout::columns, activation_layout::replicated);
    if (rows) add(weight_layout::rows, activation_layout::replicated);
    if (w.kind == weight_kind::embedding ? rows : columns) add(weight_layout::vocabulary, activation_layout::replicated);
    if (prices_.divides(w.row_units, w.matrices))  // experts are whole
      for (auto const t : token_layouts)
        if (prices_.allowed(t)) add(weight_layout::experts, t);
    return out;
  }
  [[nodiscard]] std::vector<option> options_of(layout_operator const& o) const {
    std::vector<option> out;
    if (o.rule != layout_rule::weights) {
      auto const add = [&](activation_layout at) {
        option made;
        made.layouts.reads = made.layouts.makes = at;
        made.reads.emplace_back(at, at);
        made.price = {prices_.work(o.flops, is_split(at)), prices_.kept(o.kept, at)};
        for (auto const& w : o.weights) {
          made.layouts.weights.push_back({weight_layout::replicated, at});
          made.price = sum(made.price, prices_.weight(w, made.layouts.weights.back()));
        }
        out.push_back(std::move(made));
      };
      for (auto const t : token_layouts)
        if (prices_.allowed(t) && !(o.rule == layout_rule::sequences && t == activation_layout::sequence)) add(t);
      if (o.rule != layout_rule::tokens && prices_.options().split && prices_.divides(o.units, o.width)) add(activation_layout::hidden);
      return out;
    }
    std::vector<std::vector<weight_place>> places;
    places.reserve(o.weights.size());
    for (auto const& w : o.weights) places.push_back(places_of(w));
    std::vector<weight_place> chosen;
    choose(o, places, chosen, out);
    for (auto& each : out) std::sort(each.reads.begin(), each.reads.end());
    return out;
  }
  // Those of which no other reads and makes the same and costs no more.
  [[nodiscard]] static std::vector<option> useful(std::vector<option> const& all) {
    std::vector<option> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& a = all[i];
      auto worse = false;
      for (std::size_t j = 0; j < all.size() && !worse; ++j) {
        auto const& b = all[j];
        worse = i != j && a.layouts.makes == b.layouts.makes && a.reads == b.reads && b.price.time <= a.price.time &&
                b.price.bytes <= a.price.bytes && (b.price.time != a.price.time || b.price.bytes != a.price.bytes || j < i);
      }
      if (!worse) out.push_back(a);
    }
    return out;
  }
  void choose(layout_operator const& o, std::vector<std::vector<weight_place>> const& places, std::vector<weight_place>& chosen,
              std::vector<option>& out) const {
    if (chosen.size() == places.size()) return add_results(o, chosen, out);
    for (auto const& p : places[chosen.size()]) {
      chosen.push_back(p);
      choose(o, places, chosen, out);
      chosen.pop_back();
    }
  }
  // A single weight leaves its result as it is. The results of several are brought to one layout.
  void add_results(layout_operator const& o, std::vector<weight_place> const& chosen, std::vector<option>& out) const {
    option made;
    made.layouts.weights = chosen;
    auto all_partial = true, any_split = false;
    std::vector<layout_use> uses;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      auto const use = use_of(o.weights[i].kind, chosen[i].layout, chosen[i].reads);
      uses.push_back(use);
      made.price = sum(made.price, prices_.weight(o.weights[i], chosen[i]));
      all_partial = all_partial && use.makes == activation_layout::partial;
      any_split = any_split || is_split(use.reads) || is_split(use.makes);
      std::pair const read{use.reads, use.gradient};
      if (std::find(made.reads.begin(), made.reads.end(), read) != made.reads.end()) continue;
      auto const again = std::any_of(made.reads.begin(), made.reads.end(), [&](auto const& r) { return r.first == use.reads; });
      if (!again) made.price.bytes = layout_sum(made.price.bytes, prices_.kept(o.kept, use.reads));
      made.reads.push_back(read);
    }
    made.price.time = layout_sum(made.price.time, prices_.work(o.flops, any_split));
    auto const finish = [&](activation_layout makes) {
      auto each = made;
      each.layouts.makes = makes;
      for (std::size_t i = 0; i < uses.size(); ++i)
        each.price.time = layout_sum(each.price.time, prices_.edge(uses[i].makes, makes, gradient_of(makes), o.weights[i].out));
      out.push_back(std::move(each));
    };
    if (uses.size() == 1) return finish(uses[0].makes);
    for (auto const t : token_layouts)
      if (prices_.allowed(t)) finish(t);
    if (prices_.options().split) finish(activation_layout::hidden);
    if (all_partial) finish(activation_layout::partial);
  }

  void search_from(std::uint32_t entry) {
    states now;
    now[state(0, token_layouts[entry])].push_back({.left = none});
    for (std::uint32_t v = 0; v < block_.size(); ++v) {
      if (block_[v].opens) now = opened(now, block_[v]);
      states next;
      for (std::uint32_t r = 0; r < 3; ++r)
        for (std::uint32_t c = 0; c < 5; ++c)
          if (auto const at = static_cast<activation_layout>(c); !now[state(r, at)].empty()) run(v, r, at, now[state(r, at)], next);
      for (auto& f : next) keep_best(f);
      now = std::move(next);
    }
    for (std::uint32_t c = 0; c < 5; ++c)
      for (std::uint32_t exit = 0; exit < 3; ++exit) {
        auto const at = static_cast<activation_layout>(c), to = token_layouts[exit];
        if (!prices_.allowed(to) || (at != to && at != activation_layout::partial && at != activation_layout::hidden)) continue;
        auto const time = prices_.edge(at, to, to, block_.back().makes);
        for (auto p : now[state(0, at)]) {
          p.time = layout_sum(p.time, time);
          points_[3 * entry + exit].push_back(p);
        }
      }
  }
  // What is added later gets a layout, and the activation has it, too.
  [[nodiscard]] states opened(states const& now, layout_operator const& o) const {
    states out;
    for (std::uint32_t c = 0; c < 5; ++c)
      for (std::uint32_t r = 0; r < 3; ++r) {
        if (!prices_.allowed(token_layouts[r])) continue;
        auto const time = prices_.edge(static_cast<activation_layout>(c), token_layouts[r], token_layouts[r], o.width);
        for (auto p : now[state(0, static_cast<activation_layout>(c))]) {
          p.time = layout_sum(p.time, time);
          out[state(r, token_layouts[r])].push_back(p);
        }
      }
    for (auto& f : out) keep_best(f);
    return out;
  }
  void run(std::uint32_t v, std::uint32_t residual, activation_layout at, layout_front const& from, states& next) {
    auto const& o = block_[v];
    for (std::uint32_t i = 0; i < options_[v].size(); ++i) {
      auto const& chosen = options_[v][i];
      auto price = chosen.price;
      for (auto const& [reads, gradient] : chosen.reads) price.time = layout_sum(price.time, prices_.edge(at, reads, gradient, o.width));
      auto makes = chosen.layouts.makes;
      if (o.closes) {
        auto const to = token_layouts[residual];
        price.time = layout_sum(price.time, prices_.edge(makes, to, to, o.makes));
        makes = to;
      }
      auto& front = next[state(o.closes ? 0 : residual, makes)];
      evaluated_ += from.size();
      for (auto const& p : from) {
        steps_.push_back({p.left, v, i, residual});
        front.push_back({.time = layout_sum(p.time, price.time),
                         .bytes = layout_sum(p.bytes, price.bytes),
                         .left = static_cast<std::uint32_t>(steps_.size() - 1)});
      }
    }
  }
  [[nodiscard]] static layout_price sum(layout_price const& a, layout_price const& b) {
    return {layout_sum(a.time, b.time), layout_sum(a.bytes, b.bytes)};
  }

  layout_block block_;
  layout_prices<> prices_;
  std::vector<std::vector<option>> options_;
  std::vector<step> steps_;
  layout_matrix points_;
  std::uint64_t evaluated_ = 0;
};

}  // namespace ballast::inline v0_2::detail
