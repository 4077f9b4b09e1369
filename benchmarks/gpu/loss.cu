// SPDX-License-Identifier: Apache-2.0
// Loss normalisation and the builders on the device. Each twin has its floor as a counter, the bytes per second if only what must move
// moved once. Beside them, in the same run: the ceiling of a copy; the fused pass as one would write it in Thrust, whose sums are in double
// precision; the host twins on one core.
//
// Arguments: tokens / mean length of a sequence. Labels have 64 bits, losses and gradients 32. Rows of a trainer's size are timed as CUDA
// graphs. layout.hpp adds the moves of tokens between samples and rows.
#include "layout.hpp"
#include "timing.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/loss/fixed_point_sum.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/gpu/loss/segment_figures.cuh>
#include <ballast/gpu/loss/token_weights.cuh>
#include <ballast/gpu/loss/totals.cuh>
#include <ballast/gpu/loss/weighted_loss.cuh>
#include <ballast/gpu/loss/weights.cuh>
#include <ballast/loss/token_weights.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform_reduce.h>
#include <cub/device/device_segmented_reduce.cuh>

namespace {

using namespace ballast_bench;

struct draw_tokens {
  std::int64_t* labels;
  float* losses;
  BALLAST_HD void operator()(std::size_t t) const {
    auto const bits = ballast::splitmix64(t)();
    labels[t] = bits % 4 == 0 ? -100 : static_cast<std::int64_t>(bits >> 47);
    losses[t] = static_cast<float>(bits >> 8 & 0xffffff) * 0x1p-21F;
  }
};

struct narrow_losses {
  float const* losses;
  gpu::bfloat16* out;
  BALLAST_HD void operator()(std::size_t t) const { out[t] = gpu::bfloat16(losses[t]); }
};

// A row on the device: sequences of 1 … 2 * mean - 1 tokens.
struct row_case {
  std::size_t tokens;
  std::vector<std::int32_t> host_cu{0};
  std::int64_t* labels = nullptr;
  float* losses = nullptr;
  std::int32_t* cu = nullptr;
  double* weights = nullptr;
  float* scale = nullptr;
  std::uint64_t* bad = nullptr;
  row_case(bench_state const& state, device_memory& memory) : row_case(state) {
    labels = memory.take<std::int64_t>(tokens);
    losses = memory.take<float>(tokens);
    gpu::check(memory.on.for_each(tokens, draw_tokens{labels, losses}), "draw_tokens");
    cu = memory.send(host_cu);
    weights = memory.send(std::vector<double>(sequences(), 1e-8));
    scale = memory.take<float>(tokens);
    bad = memory.take<std::uint64_t>(1);
  }
  explicit row_case(bench_state const& state) : tokens(static_cast<std::size_t>(state.range(0))) {
    ballast::splitmix64 draw(1);
    auto const mean = static_cast<std::uint64_t>(state.range(1));
    while (static_cast<std::size_t>(host_cu.back()) + 2 * mean <= tokens)
      host_cu.push_back(host_cu.back() + 1 + static_cast<std::int32_t>(ballast::uniform_below(2 * mean - 1, draw)));
  }
  [[nodiscard]] std::size_t sequences() const { return host_cu.size() - 1; }
};

// `bytes` of a token must move. prepare(row, memory) gives the twin's call.
template <class Prepare>
void on_row(bench_state& state, double bytes, Prepare const& prepare) {
  auto const tokens = static_cast<double>(state.range(0));
  timed(state, tokens, bytes * tokens, [&](device_memory& memory) { return prepare(row_case(state, memory), memory); });
}

void copy(bench_state& state) {  // as many bytes as the fused pass moves
  auto const half = static_cast<std::size_t>(8 * state.range(0));
  timed(state, static_cast<double>(state.range(0)), 2.0 * static_cast<double>(half), [&](device_memory& memory) {
    auto *const from = memory.take<std::byte>(half), *const to = memory.take<std::byte>(half);
    return [=, stream = memory.on.stream] { cudaMemcpyAsync(to, from, half, cudaMemcpyDeviceToDevice, stream); };
  });
}
// The call of a twin, twin(on, temp, bytes), on the stream or as a CUDA graph.
template <bool Graph, class Twin>
auto prepared(device_memory& memory, Twin const& twin) {
  if constexpr (Graph)
    return memory.graph_of(twin);
  else
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) { return twin(on, temp, bytes); });
}
template <bool Graph>
void weighted_loss(bench_state& state) {
  on_row(state, 16, [](row_case const& row, device_memory& memory) {
    auto* const sums = memory.take<ballast::fixed_point_sum<44>>(row.sequences() + 1);
    return prepared<Graph>(memory, [=](gpu::on_stream on, void* temp, std::size_t& bytes) {
      auto const n = row.sequences();
      return gpu::weighted_loss(on, temp, bytes, row.losses, row.labels, row.tokens, row.cu, n, row.weights, {}, row.scale, sums, sums + n,
                                row.bad);
    });
  });
}
// Losses and gradients of 16 bits.
void weighted_loss_bf16(bench_state& state) {
  on_row(state, 12, [](row_case const& row, device_memory& memory) {
    auto* const sums = memory.take<ballast::fixed_point_sum<44>>(row.sequences() + 1);
    auto *const losses = memory.take<gpu::bfloat16>(row.tokens), *const scale = memory.take<gpu::bfloat16>(row.tokens);
    gpu::check(memory.on.for_each(row.tokens, narrow_losses{row.losses, losses}), "narrow_losses");
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      auto const n = row.sequences();
      return gpu::weighted_loss(on, temp, bytes, losses, row.labels, row.tokens, row.cu, n, row.weights, {}, scale, sums, sums + n,
                                row.bad);
    });
  });
}

struct weigh_token {
  std::uint32_t const* segments;  // from 1 on
  std::int64_t const* labels;
  std::int32_t const* cu;
  float const* losses;
  double const* weights;
  float* scale;
  BALLAST_HD double operator()(std::size_t t) const {
    auto const segment = segments[t] - 1;
    auto const counted = labels[t] != -100 && static_cast<std::size_t>(cu[segment]) != t;
    auto const weight = counted ? weights[segment] : 0.0;
    scale[t] = static_cast<float>(weight);
    return counted ? weight * static_cast<double>(losses[t]) : 0.0;
  }
};
struct plus {
  BALLAST_HD double operator()(double a, double b) const { return a + b; }
};
void weighted_loss_thrust(bench_state& state) {  // waits for its sum, as Thrust's reductions do
  on_row(state, 16, [](row_case const& row, device_memory& memory) {
    auto* const segments = memory.take<std::uint32_t>(row.tokens);
    return [=, on = memory.on] {
      auto const policy = thrust::cuda::par_nosync.on(on.stream);
      thrust::counting_iterator<std::uint32_t> const first(0);
      auto const cu = thrust::device_pointer_cast(row.cu);
      auto const counted = static_cast<std::size_t>(row.host_cu.back());
      thrust::upper_bound(policy, cu, cu + static_cast<std::ptrdiff_t>(row.host_cu.size()), first,
                          first + static_cast<std::uint32_t>(counted), thrust::device_pointer_cast(segments));
      thrust::counting_iterator<std::size_t> const token(0);
      keep(thrust::transform_reduce(policy, token, token + static_cast<std::ptrdiff_t>(counted),
                                    weigh_token{segments, row.labels, row.cu, row.losses, row.weights, row.scale}, 0.0, plus{}));
    };
  });
}
void fixed_point_sums(bench_state& state) {
  on_row(state, 4, [](row_case const& row, device_memory& memory) {
    auto* const sums = memory.take<ballast::fixed_point_sum<24>>(row.sequences() + 1);
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      auto const n = row.sequences();
      return gpu::fixed_point_sums(on, temp, bytes, row.losses, row.tokens, row.cu, n, sums, sums + n, row.bad);
    });
  });
}
void token_weights(bench_state& state) {
  on_row(state, 12, [](row_case const& row, device_memory& memory) {
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return gpu::token_weights(on, temp, bytes, row.weights, row.labels, row.tokens, row.cu, row.sequences(), {}, row.scale, row.bad);
    });
  });
}
void label_counts(bench_state& state) {
  on_row(state, 8, [](row_case const& row, device_memory& memory) {
    auto* const counts = memory.take<std::int64_t>(row.sequences());
    return memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return gpu::label_counts(on, temp, bytes, row.labels, row.tokens, row.cu, row.sequences(), {}, counts, row.bad);
    });
  });
}
template <bool Graph>
void position_ids(bench_state& state) {
  on_row(state, 4, [](row_case const& row, device_memory& memory) {
    auto* const out = memory.take<std::int32_t>(row.tokens);
    return prepared<Graph>(memory, [=](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::position_ids(on, temp, bytes, row.cu, nullptr, 1, row.sequences(), row.tokens, out, row.bad);
    });
  });
}

void figures_copied(bench_state& state) { copied(state, 4); }
// The least, the largest, the sum and the mean of the losses of each sequence.
void segment_figures(bench_state& state) {
  on_row(state, 4, [](row_case const& row, device_memory& memory) {
    auto const n = row.sequences();
    gpu::segment_arrays<float> const out{memory.take<float>(n), memory.take<float>(n), memory.take<ballast::segment_sum<float>>(n),
                                         memory.take<double>(n)};
    return memory.graph_of([=](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::segment_figures(on, temp, bytes, row.losses, row.tokens, row.cu, n, out, row.bad);
    });
  });
}
// One pass for the least, the largest and the sum, each as long as a sum in an order of its own, which nvcc then compiles once.
void figures_by_cub(bench_state& state) {
  on_row(state, 4, [](row_case const& row, device_memory& memory) {
    auto const n = static_cast<std::int64_t>(row.sequences());
    auto* const out = memory.take<float>(3 * row.sequences());
    return memory.graph_of([=](gpu::on_stream on, void* temp, std::size_t& bytes) {
      auto error = cudaSuccess;
      for (int pass = 0; pass < 3 && error == cudaSuccess; ++pass)
        error = cub::DeviceSegmentedReduce::Sum(temp, bytes, row.losses, out + pass * n, n, row.cu, row.cu + 1, on.stream);
      return error;
    });
  });
}

struct draw_count {
  std::int64_t* counts;
  BALLAST_HD void operator()(std::size_t i) const { counts[i] = static_cast<std::int64_t>(ballast::splitmix64(i)() % 4096); }
};
// Arguments: sequences / 100 p. Totals and weights: the counts are read three times and the weights written.
void totals_and_weights(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 16.0 * static_cast<double>(n), [&](device_memory& memory) {
    auto* const counts = memory.take<std::int64_t>(n);
    auto* const weights = memory.take<double>(n);
    auto* const totals = memory.take<ballast::loss_totals>(1);
    auto* const bad = memory.take<std::uint64_t>(1);
    auto const normaliser = ballast::loss_normaliser::length_power(static_cast<double>(state.range(1)) / 100);
    gpu::check(memory.on.for_each(n, draw_count{counts}), "draw_count");
    auto sum = memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return gpu::loss_totals_of(on, temp, bytes, counts, n, normaliser, totals, bad);
    });
    auto weigh = memory.ready([=, on = memory.on](void* temp, std::size_t& bytes) {
      return gpu::loss_weights(on, temp, bytes, counts, n, totals, normaliser, {.ranks = 64}, nullptr, weights, bad);
    });
    return [sum, weigh]() mutable {
      sum();
      weigh();
    };
  });
}

// The host twins on the same kind of row: weight of each token and fixed-point sum of all.
void weighted_loss_host(bench_state& state) {
  auto const tokens = static_cast<double>(state.range(0));
  timed_on_host(state, tokens, 16 * tokens, [&] {
    row_case row(state);
    std::vector<std::int64_t> labels(row.tokens);
    std::vector<float> losses(row.tokens);
    for (std::size_t t = 0; t < row.tokens; ++t) draw_tokens{labels.data(), losses.data()}(t);
    std::vector<double> const weights(row.sequences(), 1e-8);
    return [=, scale = std::vector<float>(row.tokens)]() mutable {
      ballast::token_weights(weights, labels, row.host_cu, std::span<float>(scale));
      ballast::fixed_point_sum<44> sum;
      for (std::size_t t = 0; t < row.tokens; ++t) sum.add(static_cast<double>(scale[t]) * static_cast<double>(losses[t]));
      keep(sum);
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  program const p(argc, argv);
  std::vector<std::vector<std::int64_t>> const rows{{1'000'000, 100'000'000, 1'000'000'000}, {100, 1000, 30'000}};
  run(p, "copy", copy, {rows[0], {1}});
  run(p, "weighted_loss", weighted_loss<false>, rows);
  run(p, "weighted_loss_bf16", weighted_loss_bf16, rows);
  run(p, "weighted_loss_thrust", weighted_loss_thrust, rows);
  run(p, "weighted_loss_host", weighted_loss_host, {{10'000'000}, {1000}});
  run(p, "fixed_point_sums", fixed_point_sums, rows);
  run(p, "token_weights", token_weights, rows);
  run(p, "label_counts", label_counts, rows);
  run(p, "position_ids", position_ids<false>, rows);
  std::vector<std::vector<std::int64_t>> const trainers{{8'192, 32'768, 131'072}, {1000}};  // rows of one step, where launches are the time
  run(p, "weighted_loss_graph", weighted_loss<true>, trainers);
  run(p, "position_ids_graph", position_ids<true>, trainers);
  std::vector<std::vector<std::int64_t>> const figures{{8'192, 32'768, 131'072, 10'000'000}, {1000}};
  run(p, "figures_copied", figures_copied, figures);
  run(p, "segment_figures", segment_figures, figures);
  run(p, "figures_by_cub", figures_by_cub, figures);
  run_layout(p);
  run(p, "totals_and_weights", totals_and_weights, {{1'000'000, 100'000'000}, {0, 30, 50, 100}});
}
