// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/detail/degree_search.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/searched_settings.hpp>
#include <ballast/plan/timed_data.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `search_degrees`: the fastest ways to distribute a training over devices: TP, PP, chunks, DP, CP, EP, ZeRO, micro-batches,
/// schedule and recomputation.

namespace ballast::inline v0_2 {

namespace detail {
/// Sums of a measure, of which a pack has at most `most`.
struct measure_sums {
  std::int64_t all = 0, squares = 0, largest = 0;
};
template <length_range R>
[[nodiscard]] measure_sums sums_of(R const& values, char const* name, std::int64_t most) {
  measure_sums out;
  std::size_t i = 0;
  for (auto const value : values) {
    auto const size = static_cast<std::int64_t>(value);
    require(size >= 0 && size <= most,
            [&] { return entry(name, i, size) + " must be in [0, " + std::to_string(most) + "], which is what a pack holds"; });
    add_checked(out.all, size, name, i);
    add_checked(out.squares, (checked(size) * checked(size)).value, name, i);
    out.largest = (std::max)(out.largest, size);
    ++i;
  }
  return out;
}
/// The packs that a number of samples needs where a pack has at most `max_samples`; 0 = no limit.
[[nodiscard]] inline std::int64_t packs_of_number(std::size_t samples, std::uint64_t max_samples) noexcept {
  return max_samples == 0 ? 0 : static_cast<std::int64_t>(divide_up(std::uint64_t{samples}, max_samples));
}
}  // namespace detail

/// @brief The packs that samples fill if as few packs as their tokens and number need are all equal.
///
/// @tparam R  range of integers
/// @param lengths   tokens of each sample, not negative and at most `sequence`
/// @param sequence  tokens of a pack, at least 1
/// @param max_samples  most samples in a pack; 0 = no limit
/// @return the mean pack; and one of `sequence` tokens, all of them in samples as long as the longest
/// @throws invalid_input if `sequence` or a length is out of range, or sums reach 2^63
/// @par Complexity
/// O(samples).
template <length_range R>
[[nodiscard]] pack_sizes pack_sizes_of(R const& lengths, std::int64_t sequence, std::uint64_t max_samples = 0) {
  require(sequence >= 1, [&] { return "sequence = " + std::to_string(sequence) + " must be at least 1"; });
  auto const tokens = detail::sums_of(lengths, "lengths", sequence);
  auto const packs =
      (std::max)({divide_up(tokens.all, sequence), detail::packs_of_number(std::ranges::size(lengths), max_samples), std::int64_t{1}});
  return {.mean = {.tokens = divide_up(tokens.all, packs), .squares = divide_up(tokens.squares, packs)},
          .largest = {.tokens = sequence, .squares = sequence * tokens.largest}};
}

/// @brief The packs that samples of image tiles and tokens fill if as few packs as they need are all equal.
/// @param samples   image tiles and tokens of each sample: `{tiles, tokens}`
/// @param tiles     image tiles of a pack, at least 1; no sample has more
/// @param sequence  tokens of a pack, at least 1; no sample has more
/// @param max_samples  most samples in a pack; 0 = no limit
/// @return the mean pack; and one of `tiles` tiles and `sequence` tokens, all of them in samples as long as the longest
/// @throws invalid_input if there are not two measures, and as the other overload
/// @par Complexity
/// O(samples).
template <class = when_called>
[[nodiscard]] inline pack_sizes pack_sizes_of(sample_measures const& samples, std::int64_t tiles, std::int64_t sequence,
                                              std::uint64_t max_samples = 0) {
  require(samples.measures() == 2,
          [&] { return "samples have " + std::to_string(samples.measures()) + " measures, not tiles and tokens"; });
  require(tiles >= 1, [&] { return "tiles = " + std::to_string(tiles) + " must be at least 1"; });
  require(sequence >= 1, [&] { return "sequence = " + std::to_string(sequence) + " must be at least 1"; });
  auto const images = detail::sums_of(samples.column(0), "tiles", tiles), tokens = detail::sums_of(samples.column(1), "tokens", sequence);
  auto const packs = (std::max)({divide_up(tokens.all, sequence), divide_up(images.all, tiles),
                                 detail::packs_of_number(samples.size(), max_samples), std::int64_t{1}});
  return {
      .mean = {.tokens = divide_up(tokens.all, packs), .squares = divide_up(tokens.squares, packs), .tiles = divide_up(images.all, packs)},
      .largest = {.tokens = sequence, .squares = sequence * tokens.largest, .tiles = tiles}};
}

namespace detail {
/// Plans a setting for the steps of some packs.
template <class Model>
void plan_ranked(ranked_setting& ranked, batching<> const& steps, std::span<batch_shape const> packs, pack_sizes const& sizes,
                 Model const& model, cluster const& on) {
  auto by = ranked.setting;
  by.pipeline.largest = times(sizes.largest, by.micro_batch);
  auto const chain = chain_for(steps, packs, model, by, on);
  if constexpr (std::same_as<Model, transformer>) {
    ranked.plan = plan_setting(steps, packs, model, by, chain, is_hopper(on.device));
  } else {
    auto const pipeline = beside_workspace(by.pipeline, steps, packs, model, by.model, on.device);
    ranked.plan = plan_training(steps, packs, chain.layers, pipeline, chain.rates);
  }
  ranked.setting.boundaries = ranked.plan.stages.partition.boundaries;
}
/// Orders settings by times; of equal ones, the first stays in front.
template <class Time>
void rank(searched_settings& found, Time const& time_of) {
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  order.reserve(found.ranked.size());
  for (auto const& r : found.ranked) order.emplace_back(time_of(r), order.size());
  std::sort(order.begin(), order.end());
  std::vector<ranked_setting> ranked;
  ranked.reserve(order.size());
  for (auto const& [time, i] : order) ranked.push_back(std::move(found.ranked[i]));
  found.ranked = std::move(ranked);
}
/// Plans the settings for steps of data, which `plan` deals to their ranks, and ranks them by the times.
template <class Model, class Plan>
void rank_by_data(searched_settings& found, pack_sizes const& sizes, search_options const& o, Model const& model, cluster const& on,
                  Plan const& plan) {
  for (auto& ranked : found.ranked) {
    auto const& setting = ranked.setting;
    auto const stages = setting.pipeline.stages;
    data_plan_options options{.steps = {.capacity = setting.sequence * setting.micro_batch,
                                        .ranks = static_cast<std::uint64_t>(setting.ranks()),
                                        .micro_batches = static_cast<std::uint64_t>(setting.micro_batches),
                                        .synchronisation = stages > 1 ? synchronisation::pipeline : synchronisation::per_step,
                                        .stages = stages}};
    if (o.tiles > 0) options.others.push_back(o.tiles * setting.micro_batch);
    constexpr auto all = std::uint64_t{batching<>::none};  // more than there are samples
    options.max_samples = (std::min)(o.max_samples, all) * static_cast<std::uint64_t>(setting.micro_batch);
    data_plan<> const data = plan(options, setting.model);
    auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens), data.tiles());
    plan_ranked(ranked, data.steps, std::span(packs), sizes, model, on);
  }
  rank(found, [](ranked_setting const& r) { return r.plan.time.value; });  // of the same data
}
}  // namespace detail

/// @brief Finds the fastest settings for steps of equal micro-batches.
///
/// Every setting of the space (`search_options`) is compared by the time that `plan_training` models for one step of `global_batch` mean
/// packs. Settings that do not divide that number are left out; if there are no others, each takes the next multiple that it divides, and
/// they are compared by their time per pack. Stages and recomputation are planned exactly for this step, within memory for the largest
/// pack. Settings are visited by a lower bound on their time, and the visit ends when no bound is below the best times found. So the result
/// is what trying all would give. Under schedules with several chunks, chunks of equal time are compared; other cuts are tried for the
/// settings that are returned. Where the tensors of the framework are counted, stages of a language model fit as `memory_of` counts them.
///
/// @tparam Model  `transformer` or `vision_language_model`
/// @param model    the shape of the model
/// @param packs    sizes of packs; see `pack_sizes_of`
/// @param options  devices, memory, packs, and the space
/// @param on       the devices
/// @param by       how the model is trained; `by.spread` and `by.expert` are what is searched, and are not read
/// @return the fastest settings, one for each choice of TP, CP, EP and stages
/// @throws invalid_input if an option is out of range, and as `layers_of` and `plan_training`
/// @par Complexity
/// O(settings log settings), and `plan_training` of one rank for those that bounds do not exclude.
/// @par Determinism
/// A pure function of its arguments, in integers, if no stop is requested. Of equally fast settings, the one with the smaller bound; then
/// the one with smaller TP, stages, CP, EP and micro-batch, in this order, then the schedule and ZeRO stage that is named first.
/// @par Source
/// This library (docs/plan.md).
template <class Model>
[[nodiscard]] searched_settings search_degrees(Model const& model, pack_sizes const& packs, search_options const& options,
                                               cluster const& on, model_setting const& by) {
  auto out = detail::degree_search<Model>(model, packs, options, on, by).run();
  for (auto& ranked : out.ranked) {
    batching<> step;  // one rank, and the mean pack in all its places
    step.micro_batches = static_cast<std::uint64_t>(ranked.setting.micro_batches);
    step.table.assign(static_cast<std::size_t>(step.micro_batches), 0);
    step.packs.push_back({});
    auto const mean = detail::times(packs.mean, ranked.setting.micro_batch);
    detail::plan_ranked(ranked, step, std::span(&mean, 1), packs, model, on);
  }
  detail::rank(
      out, [&](ranked_setting const& r) { return detail::in_packs(r.plan.time.value, options.global_batch, r.setting.global_batch()); });
  return out;
}

/// @brief Finds the fastest settings for a data set: those for steps of equal micro-batches, planned and simulated for steps of the data,
/// and ranked by the times of those.
///
/// Ranks that wait for each other count in this ranking, but a setting that is not among the `keep` best for equal micro-batches is not
/// simulated. The data of the simulated steps are samples drawn at random, the same for all settings.
///
/// @tparam R  range of integers
/// @param lengths  tokens of each sample, at most `options.sequence`
/// @param model    the shape of the model
/// @param options  devices, memory, packs, and the space
/// @param on       the devices
/// @param by       how the model is trained; `by.spread` and `by.expert` are what is searched, and are not read
/// @return the fastest settings; `plan` of each is the plan of the simulated steps
/// @throws invalid_input as the other overload and `plan_data`
/// @par Complexity
/// As the other overload, and `keep` times `plan_data` and `plan_training` of `options.packs` packs.
/// @par Determinism
/// As the other overload.
template <length_range R>
[[nodiscard]] searched_settings search_degrees(R const& lengths, transformer const& model, search_options const& options, cluster const& on,
                                               model_setting const& by) {
  auto const sizes = pack_sizes_of(lengths, options.sequence, options.max_samples);
  std::vector<std::int64_t> tokens(std::begin(lengths), std::end(lengths));
  auto out = detail::degree_search<transformer>(model, sizes, options, on, by).run();
  tokens = detail::drawn_of(tokens, detail::drawn_samples(tokens, options));
  detail::rank_by_data(out, sizes, options, model, on,
                       [&](data_plan_options const& o, model_setting const& degrees) { return plan_data(tokens, o, model, on, degrees); });
  return out;
}

/// @brief Finds the fastest settings for a data set of image tiles and tokens, as the overload for tokens does.
///
/// @param samples  image tiles and tokens of each sample: `{tiles, tokens}`; at most `options.tiles` and `options.sequence`
/// @param model    the shape of the model
/// @param options  devices, memory, packs, and the space; heads and experts are those of the language model
/// @param on       the devices
/// @param by       how the model is trained; `by.spread` and `by.expert` are what is searched, and are not read
/// @return as the other overload
/// @throws invalid_input as the other overload
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <class = when_called>
[[nodiscard]] searched_settings search_degrees(sample_measures const& samples, vision_language_model const& model,
                                               search_options const& options, cluster const& on, model_setting const& by) {
  auto const sizes = pack_sizes_of(samples, options.tiles, options.sequence, options.max_samples);
  auto out = detail::degree_search<vision_language_model>(model, sizes, options, on, by).run();
  auto const drawn = detail::drawn_samples(samples.column(1), options);
  auto const tiles = detail::drawn_of(samples.column(0), drawn), tokens = detail::drawn_of(samples.column(1), drawn);
  sample_measures const some{tiles, tokens};
  detail::rank_by_data(out, sizes, options, model, on,
                       [&](data_plan_options const& o, model_setting const& degrees) { return plan_data(some, o, model, on, degrees); });
  return out;
}

BALLAST_INSTANTIATE(searched_settings search_degrees(transformer const&, pack_sizes const&, search_options const&, cluster const&,
                                                     model_setting const&))
BALLAST_INSTANTIATE(searched_settings search_degrees(vision_language_model const&, pack_sizes const&, search_options const&, cluster const&,
                                                     model_setting const&))

}  // namespace ballast::inline v0_2
