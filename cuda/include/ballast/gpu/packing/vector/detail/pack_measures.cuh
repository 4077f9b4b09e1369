// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/detail/place_samples.cuh>
#include <ballast/gpu/packing/result.cuh>
#include <ballast/gpu/packing/vector/detail/class_order.cuh>
#include <ballast/gpu/packing/vector/detail/plan_measures.cuh>
#include <ballast/gpu/packing/vector/measures.cuh>
#include <ballast/gpu/packing/vector/planner.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

// Shared by both forms of portfolio.cuh.

namespace ballast::inline v0_2::gpu::detail {

template <class Index>
struct mix_samples {
  Index const* samples;
  std::uint64_t const* mixed;
  Index* out;
  BALLAST_HD void operator()(std::size_t p) const { out[p] = samples[mixed[p]]; }
};

// Where the samples that exceed a capacity are written: their indices, and the ends of their packs if each is alone.
template <class Index>
struct exceeding_arrays {
  Index* samples = nullptr;
  std::uint64_t* ends = nullptr;
};

template <class Index>
struct write_exceeding {
  Index const* samples;
  std::uint64_t before;  // members of all other packs
  exceeding_arrays<Index> out;
  BALLAST_HD void operator()(std::size_t j) const {
    out.samples[j] = samples[j];
    if (out.ends != nullptr) out.ends[j] = before + j + 1;
  }
};

// Reads the words and the classes that the device found; waits. `invalid_value` if the samples cannot be packed.
template <class On, class Key, class Index>
[[nodiscard]] typename On::error_type read_order(class_order<Key, Index> const& order, std::size_t count, measure_keys const& to,
                                                 vector_packing_options const& options, vector_planner<On>& planner,
                                                 std::uint64_t& exceeding) {
  using error_type = typename On::error_type;
  error_type error{};
  auto const download = [&](host_buffer<On>& buffer, void const* from, std::size_t bytes) {
    if (error == error_type{}) error = buffer.reserve(bytes);
    if (error == error_type{}) error = buffer.download(from, bytes);
  };
  auto const wait = [&](host_buffer<On>& buffer) {
    if (error == error_type{}) error = buffer.wait();
    return error == error_type{};
  };
  download(planner.words, order.words, class_words::all * sizeof(std::uint64_t));
  if (!wait(planner.words)) return error;
  std::uint64_t words[class_words::all];
  std::copy_n(planner.words.template as<std::uint64_t>(), class_words::all, words);
  planner.first_bad = words[class_words::first_bad];
  if (planner.first_bad != none_bad) return On::invalid_value;
  auto const classes = static_cast<std::size_t>(words[class_words::classes]);
  download(planner.keys, order.unsorted_keys, classes * sizeof(Key));
  download(planner.words, order.unsorted_samples, classes * sizeof(Index));
  if (!wait(planner.keys) || !wait(planner.words)) return error;
  auto const measures = options.capacity.size();
  exceeding = read_classes<Key, Index>({planner.keys.template as<Key>(), classes}, {planner.words.template as<Index>(), classes}, count,
                                       measures, options.max_samples != 0, to, planner.classes);
  auto const packed = options.oversize == oversize::alone;
  return add_measures(planner.classes, measures, words + class_words::sums, packed, planner.found.totals) ? error : On::invalid_value;
}

// `outputs(packs, exceeding)` returns the arrays once these numbers are known: a `pack_arrays` and an `exceeding_arrays`.
template <class Index, class On, class Value, class Outputs>
[[nodiscard]] typename On::error_type pack_measures(On on, void* temp, std::size_t& bytes, sample_measures<Value> const& samples,
                                                    vector_packing_options const& options, portfolio_options const& portfolio,
                                                    vector_planner<On>& planner, Outputs const& outputs) {
  using error_type = typename On::error_type;
  measure_keys const to(options.capacity);
  if (samples.count > (std::numeric_limits<Index>::max)()) return On::invalid_value;
  return with_class_key(to, [&]<class Key>(Key) {
    workspace memory(temp);
    class_order<Key, Index> order;
    if (auto const end = order.cut(on, memory, bytes, samples.count, to.values + 1); end.ends) return end.error;
    planner.found = {};
    std::uint64_t exceeding = 0;
    auto error = order.queue(on, samples, to, options.oversize != oversize::reject);
    auto const queue = [&](auto const& step) {
      if (error == error_type{}) error = step();
    };
    queue([&] { return read_order(order, samples.count, to, options, planner, exceeding); });
    if (error != error_type{}) return error;
    auto const mixed = plan_classes(planner, exceeding, options, portfolio);
    queue([&] { return planner.runs.upload(planner.plan); });
    auto const packed = static_cast<std::size_t>(planner.plan.samples);
    auto const [out, beside] = outputs(planner.plan.packs, exceeding);
    if (exceeding != 0)
      queue(
          [&] { return on.for_each(static_cast<std::size_t>(exceeding), write_exceeding<Index>{order.samples + packed, packed, beside}); });
    if (!mixed.empty()) {
      queue([&] { return planner.mixed.upload(mixed); });
      queue([&] { return on.for_each(packed, mix_samples<Index>{order.samples, planner.mixed.data(), order.unsorted_samples}); });
      order.samples = order.unsorted_samples;
    }
    canonical_order<std::uint16_t, Index> const sorted{.samples = order.samples};  // no keys: the samples are those of the plan
    queue([&] { return write_packs(on, planner.runs.view(), sorted, packed, nullptr, out, nullptr); });
    return error;
  });
}

}  // namespace ballast::inline v0_2::gpu::detail
