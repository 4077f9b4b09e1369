// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "timing.hpp"

#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/gather_rows.cuh>
#include <ballast/gpu/layout/unpad_rows.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

/// @file
/// @brief Moves of tokens between stored samples and packed rows, from the mask of padded rows to indices, and lengths from offsets. They
/// are in the program of the losses: another program would take another minute of nvcc.
///
/// Argument: tokens of all rows. Rows have 8192 places, and samples, which are stored in another order, 1 … 1999 tokens. All cases are CUDA
/// graphs. Beside the twins: a copy of as many bytes, one copy for each sample and column, and a pass over an array of indices, as
/// `index_select` and `index_copy` of PyTorch do it; CUB's selection of a mask.

namespace ballast_bench {

struct stored_rows {
  static constexpr std::size_t row = 8192;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::int32_t> cu;
  std::vector<std::int64_t> starts{0};
  std::vector<std::uint32_t> members;
  std::size_t packs;
  explicit stored_rows(bench_state const& state) : packs(static_cast<std::size_t>(state.range(0)) / row) {
    ballast::splitmix64 draw(1);
    std::vector<std::int32_t> placed;
    for (std::size_t p = 0; p < packs; ++p, offsets.push_back(placed.size()))
      for (cu.push_back(0);;) {
        auto const length = 1 + static_cast<std::int32_t>(ballast::uniform_below(1999, draw));
        if (static_cast<std::size_t>(cu.back() + length) > row) break;
        cu.push_back(cu.back() + length);
        placed.push_back(length);
      }
    for (auto const m : ballast::random_permutation(placed.size(), 1)) members.push_back(static_cast<std::uint32_t>(m));
    std::vector<std::int32_t> length_of(placed.size());
    for (std::size_t m = 0; m < placed.size(); ++m) length_of[members[m]] = placed[m];
    for (auto const length : length_of) starts.push_back(starts.back() + length);
  }
  [[nodiscard]] std::size_t places() const { return packs * row; }
  [[nodiscard]] std::size_t stored() const { return static_cast<std::size_t>(starts.back()); }
  [[nodiscard]] gpu::stored_packs<std::uint32_t, std::int32_t, std::int64_t> send(device_memory& memory) const {
    return {.offsets = memory.send(offsets),
            .packs = packs,
            .members = memory.send(members),
            .placed = members.size(),
            .cu = memory.send(cu),
            .starts = memory.send(starts),
            .samples = members.size(),
            .stored = stored(),
            .row = row};
  }
  /// Calls body(first place, first stored token, tokens) for each sample.
  template <class Body>
  void each_sample(Body const& body) const {
    for (std::size_t p = 0; p < packs; ++p)
      for (auto m = offsets[p]; m < offsets[p + 1]; ++m)
        body(p * row + static_cast<std::size_t>(cu[m + p]), static_cast<std::size_t>(starts[members[m]]),
             static_cast<std::size_t>(cu[m + p + 1] - cu[m + p]));
  }
};

/// A case on stored rows, `bytes` of a place must move: prepare(rows, memory) gives what `memory.graph_of` takes.
template <class Prepare>
void on_stored(bench_state& state, double bytes, Prepare const& prepare) {
  stored_rows const rows(state);
  auto const places = static_cast<double>(rows.places());
  timed(state, places, bytes * places, [&](device_memory& memory) { return memory.graph_of(prepare(rows, memory)); });
}
/// What a call without scratch memory gives to `memory.graph_of`.
template <class Call>
auto without_memory(Call const& call) {
  return [=](gpu::on_stream on, void* temp, std::size_t& bytes) { return temp == nullptr ? (bytes = 1, cudaSuccess) : call(on); };
}

/// A copy that reads and writes half of `bytes` for each place.
inline void copied(bench_state& state, std::size_t bytes) {
  on_stored(state, static_cast<double>(bytes), [=](stored_rows const& rows, device_memory& memory) {
    auto const half = rows.places() * bytes / 2;
    return without_memory([=, from = memory.take<std::byte>(half), to = memory.take<std::byte>(half)](gpu::on_stream on) {
      return cudaMemcpyAsync(to, from, half, cudaMemcpyDeviceToDevice, on.stream);
    });
  });
}

// Tokens and labels of 64 bits, position ids and segment ids of 32.
inline void gather_rows(bench_state& state) {
  on_stored(state, 40, [](stored_rows const& rows, device_memory& memory) {
    using column = gpu::row_column<std::int64_t>;
    auto const plan = rows.send(memory);
    column const tokens{memory.take<std::int64_t>(rows.stored()), memory.take<std::int64_t>(rows.places()), 0};
    column const labels{memory.take<std::int64_t>(rows.stored()), memory.take<std::int64_t>(rows.places()), -100};
    gpu::row_ids<> const ids{memory.take<std::int32_t>(rows.places()), memory.take<std::int32_t>(rows.places())};
    return [=, bad = memory.take<std::uint64_t>(1)](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::gather_rows(on, temp, bytes, plan, ids, bad, tokens, labels);
    };
  });
}
// `width` values of T for a token, in one column.
template <class T>
void gather_column(bench_state& state, std::size_t width) {
  on_stored(state, 2.0 * sizeof(T) * static_cast<double>(width), [=](stored_rows const& rows, device_memory& memory) {
    auto const plan = rows.send(memory);
    gpu::row_column<T> const column{memory.take<T>(width * rows.stored()), memory.take<T>(width * rows.places())};
    return [=, bad = memory.take<std::uint64_t>(1)](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::gather_rows(on, temp, bytes, plan, width, column, bad);
    };
  });
}
template <class T>
void scatter_column(bench_state& state, std::size_t width) {
  on_stored(state, 2.0 * sizeof(T) * static_cast<double>(width), [=](stored_rows const& rows, device_memory& memory) {
    auto const plan = rows.send(memory);
    auto *const from = memory.take<T>(width * rows.places()), *const to = memory.take<T>(width * rows.stored());
    return [=, bad = memory.take<std::uint64_t>(1)](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::scatter_rows(on, temp, bytes, plan, width, from, to, bad);
    };
  });
}
// Tokens and labels alone, by a copy for each sample: without ids and padding.
inline void gather_by_copies(bench_state& state) {
  on_stored(state, 40, [](stored_rows const& rows, device_memory& memory) {
    std::int64_t *from[2], *to[2];
    for (int c = 0; c < 2; ++c) from[c] = memory.take<std::int64_t>(rows.stored()), to[c] = memory.take<std::int64_t>(rows.places());
    return without_memory([=](gpu::on_stream on) {
      auto error = cudaSuccess;
      rows.each_sample([&](std::size_t place, std::size_t stored, std::size_t tokens) {
        for (int c = 0; c < 2 && error == cudaSuccess; ++c)
          error = cudaMemcpyAsync(to[c] + place, from[c] + stored, 8 * tokens, cudaMemcpyDeviceToDevice, on.stream);
      });
      return error;
    });
  });
}

// The stored token of each place, or -1.
inline std::int64_t* indices_of(stored_rows const& rows, device_memory& memory) {
  std::vector<std::int64_t> index(rows.places(), -1);
  rows.each_sample([&](std::size_t place, std::size_t stored, std::size_t tokens) {
    for (std::size_t t = 0; t < tokens; ++t) index[place + t] = static_cast<std::int64_t>(stored + t);
  });
  return memory.send(index);
}
template <class T>
struct select_index {
  std::int64_t const* index;
  T const* from;
  T* to;
  BALLAST_HD void operator()(std::size_t i) const { to[i] = index[i] < 0 ? T{0} : from[index[i]]; }
};
template <class T>
struct copy_index {
  std::int64_t const* index;
  T const* from;
  T* to;
  BALLAST_HD void operator()(std::size_t i) const {
    if (index[i] >= 0) to[index[i]] = from[i];
  }
};
// `columns` passes over the indices, one for each column.
template <template <class> class Move, class T>
void by_index(bench_state& state, std::size_t columns, double bytes) {
  on_stored(state, bytes, [=](stored_rows const& rows, device_memory& memory) {
    auto const most = (std::max)(rows.stored(), rows.places());
    Move<T> const move{indices_of(rows, memory), memory.take<T>(most), memory.take<T>(most)};
    return without_memory([=, places = rows.places()](gpu::on_stream on) {
      auto error = cudaSuccess;
      for (std::size_t c = 0; c < columns && error == cudaSuccess; ++c) error = on.for_each(places, move);
      return error;
    });
  });
}

// A mask of 64 bits, of which three quarters of each row are tokens.
struct draw_mask {
  std::int64_t* mask;
  BALLAST_HD void operator()(std::size_t i) const { mask[i] = i % stored_rows::row < stored_rows::row / 4 * 3 ? 1 : 0; }
};
inline std::int64_t* mask_of(stored_rows const& rows, device_memory& memory) {
  auto* const mask = memory.take<std::int64_t>(rows.places());
  gpu::check(memory.on.for_each(rows.places(), draw_mask{mask}), "draw_mask");
  return mask;
}
inline void unpad_rows(bench_state& state) {
  on_stored(state, 14, [](stored_rows const& rows, device_memory& memory) {
    auto* const cu = memory.take<std::int32_t>(rows.packs + 2);
    return [=, mask = mask_of(rows, memory), indices = memory.take<std::int64_t>(rows.places()), packs = rows.packs](
               gpu::on_stream on, void* temp, std::size_t& bytes) {
      return gpu::unpad_rows(on, temp, bytes, mask, packs, stored_rows::row, indices, cu, cu + packs + 1);
    };
  });
}
inline void unpad_by_select(bench_state& state) {  // the indices alone
  on_stored(state, 14, [](stored_rows const& rows, device_memory& memory) {
    return [=, mask = mask_of(rows, memory), indices = memory.take<std::int64_t>(rows.places()), found = memory.take<std::int64_t>(1),
            places = static_cast<std::int64_t>(rows.places())](gpu::on_stream on, void* temp, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(temp, bytes, thrust::counting_iterator<std::int64_t>(0), mask, indices, found, places, on.stream);
    };
  });
}

// Argument: sequences.
inline void sequence_lengths(bench_state& state) {
  auto const n = static_cast<std::size_t>(state.range(0));
  timed(state, static_cast<double>(n), 8.0 * static_cast<double>(n), [&](device_memory& memory) {
    std::vector<std::int32_t> offsets(n + 1);
    for (std::size_t i = 0; i <= n; ++i) offsets[i] = static_cast<std::int32_t>(100 * i);
    return memory.graph_of(
        [=, from = memory.send(offsets), to = memory.take<std::int32_t>(n), bad = memory.take<std::uint64_t>(1)](
            gpu::on_stream on, void* temp, std::size_t& bytes) { return gpu::sequence_lengths(on, temp, bytes, from, n, to, bad); });
  });
}

inline void run_layout(program const& p) {
  std::vector<std::vector<std::int64_t>> const tokens{{8'192, 32'768, 131'072, 10'000'000}}, wide{{8'192, 32'768, 131'072, 1'000'000}};
  run(p, "rows_copied", [](bench_state& s) { copied(s, 40); }, tokens);
  run(p, "gather_rows", gather_rows, tokens);
  run(p, "gather_by_copies", gather_by_copies, tokens);
  run(p, "gather_by_index", [](bench_state& s) { by_index<select_index, std::int64_t>(s, 2, 40); }, tokens);
  run(p, "column_copied", [](bench_state& s) { copied(s, 8); }, tokens);
  run(p, "gather_column", [](bench_state& s) { gather_column<std::int32_t>(s, 1); }, tokens);
  run(p, "scatter_column", [](bench_state& s) { scatter_column<std::int32_t>(s, 1); }, tokens);
  run(p, "column_by_index", [](bench_state& s) { by_index<select_index, std::int32_t>(s, 1, 8); }, tokens);
  run(p, "column_back_by_index", [](bench_state& s) { by_index<copy_index, std::int32_t>(s, 1, 8); }, tokens);
  run(p, "hidden_copied", [](bench_state& s) { copied(s, 2048); }, wide);
  run(p, "gather_hidden", [](bench_state& s) { gather_column<std::uint16_t>(s, 512); }, wide);
  run(p, "scatter_hidden", [](bench_state& s) { scatter_column<std::uint16_t>(s, 512); }, wide);
  run(p, "mask_copied", [](bench_state& s) { copied(s, 14); }, tokens);
  run(p, "unpad_rows", unpad_rows, tokens);
  run(p, "unpad_by_select", unpad_by_select, tokens);
  run(p, "sequence_lengths", sequence_lengths, {{8'192, 131'072, 10'000'000}});
}

}  // namespace ballast_bench
