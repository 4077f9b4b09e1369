// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/pipeline/work.hpp>
#include <ballast/plan/run_model.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief A model between its layers and the works of its stages. Private.

namespace ballast::inline v0_2::detail {

// The micro-batches that stand in steps.
struct run_batches {
  batch_shape mean, largest;
  std::uint64_t most_of_a_rank = 1;  // in one step
};

template <class Index>
[[nodiscard]] run_batches batches_of(batching<Index> const& steps, std::span<batch_shape const> packs) {
  run_batches out;
  std::array<std::int64_t, 3> sum{}, most{};
  std::int64_t count = 0;
  std::uint64_t of_rank = 0;
  for (std::size_t place = 0; place < steps.table.size(); ++place) {
    if (place % steps.micro_batches == 0) of_rank = 0;
    auto const pack = steps.table[place];
    if (pack == steps.none) continue;
    require(pack < packs.size(), [&] { return "table[" + std::to_string(place) + "] = " + std::to_string(pack) + " is no pack"; });
    auto const values = packs[static_cast<std::size_t>(pack)].values();
    for (std::size_t k = 0; k < values.size(); ++k) {
      require(values[k] >= 0 && values[k] <= checked::most - sum[k],
              [&] { return "packs[" + std::to_string(pack) + "] has a negative number, or brings a sum to 2^63"; });
      sum[k] += values[k];
      most[k] = (std::max)(most[k], values[k]);
    }
    ++count;
    out.most_of_a_rank = (std::max)(out.most_of_a_rank, ++of_rank);
  }
  for (auto& s : sum) s = count == 0 ? 0 : divide_up(s, count);
  out.mean = {sum[0], sum[1], sum[2]};
  out.largest = {most[0], most[1], most[2]};
  return out;
}

// `value * times / by`, rounded up.
struct run_rate {
  std::uint64_t times = 1, by = 1;
  run_rate(std::int64_t t, std::int64_t b)
      : times(static_cast<std::uint64_t>(t / std::gcd(t, b))), by(static_cast<std::uint64_t>(b / std::gcd(t, b))) {}
  // Whether it is below 2^58, what staging and the simulator take.
  [[nodiscard]] bool fits(std::int64_t value) const {
    return multiply(static_cast<std::uint64_t>(value), times).high < by && (*this)(value) < std::int64_t{1} << 58;
  }
  [[nodiscard]] std::int64_t operator()(std::int64_t value) const {
    auto const v = static_cast<std::uint64_t>(value);
    auto const product = multiply(v, times);
    if (product.high == 0) return static_cast<std::int64_t>(divide_up(product.low, by));
    return static_cast<std::int64_t>(multiply_divide_up(v, times, by));
  }
};

constexpr std::int64_t nanoseconds_of_ms = 1'000'000;

[[nodiscard]] inline run_rate nanoseconds_of_work(run_model const& model) { return {nanoseconds_of_ms, model.work_per_ms}; }
[[nodiscard]] inline run_rate bytes_of_units(run_model const& model) { return {1, model.units_per_byte}; }
// Where there is no link, transfers take no time.
[[nodiscard]] inline run_rate nanoseconds_of_link(run_model const& model) {
  return {model.link_bytes_per_ms == 0 ? 0 : nanoseconds_of_ms, (std::max)(model.link_bytes_per_ms, std::int64_t{1})};
}

// The sum of costs; nothing where a coefficient passes 2^63.
inline void add(batch_cost& sum, batch_cost const& more, std::string const& name) {
  auto const one = [&](std::int64_t& to, std::int64_t value) {
    auto const both = checked(to) + checked(value);
    require(both.fits(), [&] { return "layer \"" + name + "\" has a negative cost, or brings a sum to 2^63"; });
    to = both.value;
  };
  one(sum.per_token, more.per_token);
  one(sum.per_square, more.per_square);
  one(sum.per_tile, more.per_tile);
}

// What holds for the whole model and the dearest options at the largest micro-batch holds for every stage and micro-batch.
inline void require_valid(run_model const& model, batch_shape const& largest) {
  auto const at_least = [](char const* field, std::int64_t value, std::int64_t least) {
    require(value >= least,
            [&] { return std::string(field) + " = " + std::to_string(value) + " must be at least " + std::to_string(least); });
  };
  at_least("work_per_ms", model.work_per_ms, 1);
  at_least("units_per_byte", model.units_per_byte, 1);
  at_least("link_bytes_per_ms", model.link_bytes_per_ms, 0);
  require(!model.layers.empty(), [] { return std::string("model.layers is empty"); });
  auto const fits = [&](batch_cost const& cost, run_rate const& rate, std::string const& name, char const* what) {
    require(cost.fits(largest) && rate.fits(cost(largest)),
            [&] { return "layer \"" + name + "\" brings the " + what + " of the largest micro-batch to 2^58 or more"; });
  };
  batch_cost work, bytes;
  for (auto const& layer : model.layers) {
    require(!layer.options.empty(), [&] { return "layer \"" + layer.name + "\" has no options"; });
    add(work, layer.forward, layer.name);
    add(work, layer.backward, layer.name);
    for (auto const& o : layer.options) {
      add(work, o.work, layer.name);
      add(bytes, o.bytes, layer.name);
    }
    fits(work, nanoseconds_of_work(model), layer.name, "nanoseconds");
    fits(bytes, bytes_of_units(model), layer.name, "bytes");
    batch_cost handed;
    add(handed, layer.boundary, layer.name);
    fits(handed, bytes_of_units(model), layer.name, "bytes");
    auto const handed_bytes = bytes_of_units(model)(handed(largest));
    require(nanoseconds_of_link(model).fits(handed_bytes),
            [&] { return "layer \"" + layer.name + "\" hands on bytes that take 2^58 nanoseconds or more"; });
  }
}

// Time of the mean micro-batch, bytes of the largest.
[[nodiscard]] inline std::vector<stage_layer> stage_layers_of(run_model const& model, run_batches const& batches) {
  auto const time = nanoseconds_of_work(model);
  auto const bytes = bytes_of_units(model);
  std::vector<stage_layer> out;
  for (auto const& layer : model.layers) {
    stage_layer made{time(layer.forward(batches.mean) + layer.backward(batches.mean)), layer.state, {}};
    for (auto const& o : layer.options)
      made.options.push_back({.memory = bytes(o.bytes(batches.largest)), .time = time(o.work(batches.mean))});
    out.push_back(std::move(made));
  }
  return out;
}

// The costs of every stage under the options that a plan takes.
class run_stages {
 public:
  run_stages(run_model const& model, joint_stages<> const& plan, bool splits)
      : time_(nanoseconds_of_work(model)), bytes_(bytes_of_units(model)), link_(nanoseconds_of_link(model)), splits_(splits) {
    auto const& cuts = plan.plan.boundaries;
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      stage_costs of;
      for (std::size_t i = cuts[s]; i < cuts[s + 1]; ++i) {
        auto const& layer = model.layers[i];
        auto const& taken = layer.options[plan.option[i]];
        add(of.forward, layer.forward, layer.name);
        add(of.backward, layer.backward, layer.name);
        add(of.recompute, taken.work, layer.name);
        add(of.kept, taken.bytes, layer.name);
      }
      if (cuts[s + 1] < model.layers.size()) of.boundary = model.layers[cuts[s + 1] - 1].boundary;
      stages_.push_back(of);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return stages_.size(); }
  void append_works(batch_shape const& batch, std::vector<stage_work>& out) const {
    for (auto const& of : stages_) {
      auto const backward = time_(of.backward(batch)), weight = splits_ ? backward / 2 : 0, kept = bytes_(of.kept(batch));
      out.push_back({.forward = time_(of.forward(batch)),
                     .backward = backward - weight,
                     .weight = weight,
                     .recompute = time_(of.recompute(batch)),
                     .transfer = link_(bytes_(of.boundary(batch))),
                     .kept = kept,
                     .recomputed = 0,
                     .residue = splits_ ? kept : 0});
    }
  }

 private:
  struct stage_costs {
    batch_cost forward, backward, recompute, kept, boundary;
  };
  std::vector<stage_costs> stages_;
  run_rate time_, bytes_, link_;
  bool splits_;
};

}  // namespace ballast::inline v0_2::detail
