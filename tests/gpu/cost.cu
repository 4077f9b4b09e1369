// SPDX-License-Identifier: Apache-2.0
// The cost models of cost/ give the same integers in a kernel as on the host, over lengths at the edges of warps, blocks and 63 bits.
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/tiles.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr unsigned block = 128;

template <class Cost>
__global__ void evaluate(std::int64_t const* lengths, std::int64_t* costs, std::size_t count, Cost cost) {
  auto const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) costs[i] = cost(lengths[i]);
}

/// Memory of the device, freed with its owner; null where the allocation failed.
struct device_array {
  std::int64_t* data = nullptr;
  explicit device_array(std::size_t count) {
    if (cudaMalloc(&data, count * sizeof(std::int64_t)) != cudaSuccess) data = nullptr;
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { cudaFree(data); }
};

template <class Cost>
bool same_on_both(char const* name, Cost const& cost) {
  for (std::size_t const count : {1U, 31U, 32U, 33U, block, block + 1, 1000U}) {
    std::vector<std::int64_t> lengths(count);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = i % 7 == 0 ? std::int64_t{1} << (i % 30) : static_cast<std::int64_t>(i);
    std::vector<std::int64_t> costs(count, -1);
    auto const bytes = count * sizeof(std::int64_t);
    device_array const in(count);
    device_array const out(count);
    auto const sent = cudaMemcpy(in.data, lengths.data(), bytes, cudaMemcpyHostToDevice);
    evaluate<<<static_cast<unsigned>((count + block - 1) / block), block>>>(in.data, out.data, count, cost);
    auto const ran = cudaGetLastError();
    auto const fetched = cudaMemcpy(costs.data(), out.data, bytes, cudaMemcpyDeviceToHost);
    for (auto const error : {sent, ran, fetched}) {
      if (error == cudaSuccess) continue;
      std::printf("%s: %s\n", name, cudaGetErrorString(error));
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (costs[i] == cost(lengths[i])) continue;
      std::printf("%s(%lld) is %lld on the device\n", name, static_cast<long long>(lengths[i]), static_cast<long long>(costs[i]));
      return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  bool same = same_on_both("token_cost", ballast::token_cost{});
  same &= same_on_both("linear_cost", ballast::linear_cost{.per_token = 12'345'678'901, .per_sample = 77});
  same &= same_on_both("quadratic_cost", ballast::quadratic_cost{.linear = 6 * 4096, .quadratic = 3});
  same &= same_on_both("prefix_pairs", ballast::prefix_pairs{.prefix = 100});
  same &= same_on_both("window_pairs", ballast::window_pairs{.window = 64, .sinks = 4});
  same &= same_on_both("chunked_pairs", ballast::chunked_pairs{.chunk = 96});
  same &= same_on_both("shared_question_pairs", ballast::shared_question_pairs{.question = 77, .answers = 8});
  same &= same_on_both("zigzag_pairs", ballast::zigzag_pairs{.ranks = 3});
  same &= same_on_both("attention_tiles", ballast::attention_tiles{.rows = 80, .columns = 176, .window = 512});
  same &= same_on_both("tile_cost", ballast::tile_cost{.heads = 32});
  same &= same_on_both("transformer_cost", ballast::sample_cost(ballast::transformer_preset("llama-3.1-8b")));
  return same ? 0 : 1;
}
