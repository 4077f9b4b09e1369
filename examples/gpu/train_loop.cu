// SPDX-License-Identifier: Apache-2.0
// A training loop on the GPU: it packs samples, builds cu_seqlens, and weights the loss of a tiny causal language model whose backward pass
// is written by hand. With packs or with one sample per row, the learnt model is the same to the last bit, and the first gradient is that
// of the plain mean loss. Compiled by nvcc it runs on the GPU, compiled as C++ on the plain backend.
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/layout/cu_seqlens.cuh>
#include <ballast/gpu/layout/position_ids.cuh>
#include <ballast/gpu/loss/fixed_point_sum.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/gpu/loss/totals.cuh>
#include <ballast/gpu/loss/weighted_loss.cuh>
#include <ballast/gpu/loss/weights.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>

#if defined(__CUDACC__)
#include <ballast/gpu/core/on_stream.cuh>
#else
#include <ballast/gpu/core/on_host.cuh>
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <utility>
#include <vector>

namespace gpu = ballast::gpu;

namespace {

constexpr std::size_t words = 16, width = 4, parameters = words * width;
using gradient = ballast::fixed_point_sum<44>;

BALLAST_HD double embedding(std::int64_t token, std::size_t f) {
  return static_cast<double>((token * 7 + 3) * static_cast<std::int64_t>(f + 1) % 11) / 11.0 - 0.5;
}

// Forward: takes the mean of the embeddings up to a token, a linear layer, and the loss of the next token.
struct forward {
  std::int64_t const* tokens;
  std::int64_t const* labels;
  std::int32_t const* positions;
  double const* weights;
  double* means;
  double* slopes;  // derivative of the loss by each logit
  float* losses;
  BALLAST_HD void operator()(std::size_t t) const {
    auto* const mean = means + t * width;
    auto* const slope = slopes + t * words;
    auto const seen = static_cast<std::size_t>(positions[t]) + 1;  // the mask: a sequence does not see its neighbours in the pack
    for (std::size_t f = 0; f < width; ++f) {
      mean[f] = 0;
      for (auto j = t + 1 - seen; j <= t; ++j) mean[f] += embedding(tokens[j], f) / static_cast<double>(seen);
    }
    double sum = 0;
    for (std::size_t w = 0; w < words; ++w) {
      double logit = 0;
      for (std::size_t f = 0; f < width; ++f) logit += weights[w * width + f] * mean[f];
      sum += slope[w] = exp(logit);
    }
    for (std::size_t w = 0; w < words; ++w) slope[w] /= sum;
    losses[t] = 0;
    if (labels[t] < 0) return;
    losses[t] = static_cast<float>(-log(slope[labels[t]]));
    slope[labels[t]] -= 1;
  }
};

// Backward: computes what each token adds to the gradient of each parameter.
struct backward {
  double const* means;
  double const* slopes;
  double const* scale;  // factor of each token's loss in the weighted loss
  std::size_t row;
  double* out;  // one row of tokens per parameter
  BALLAST_HD void operator()(std::size_t i) const {
    auto const p = i / row, t = i % row;
    out[i] = scale[t] == 0 ? 0 : scale[t] * slopes[t * words + p / width] * means[t * width + p % width];
  }
};

struct data_set {
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<std::int64_t>> tokens, labels;
};
data_set draw_data() {
  data_set out;
  ballast::splitmix64 draw(2026);
  for (int i = 0; i < 60; ++i) {
    auto const most = draw() % 4 == 0 ? 200U : 40U;
    auto const length = static_cast<std::size_t>(8 + draw() % most);
    std::vector<std::int64_t> tokens(length), labels(length, -100);
    for (std::size_t t = 0; t < length; ++t)  // mostly the token before plus one, so that there is something to learn
      tokens[t] = static_cast<std::int64_t>((t == 0 || draw() % 4 == 0 ? draw() : static_cast<std::uint64_t>(tokens[t - 1]) + 1) % words);
    for (auto t = length / 4; t + 1 < length; ++t) labels[t] = tokens[t + 1];  // the first quarter is a prompt
    out.lengths.push_back(static_cast<std::int64_t>(length));
    out.tokens.push_back(std::move(tokens));
    out.labels.push_back(std::move(labels));
  }
  return out;
}

struct trained {
  std::vector<double> weights;         // parameters of the model
  std::vector<double> first_gradient;  // before the first update
  double loss = 0;                     // loss of the last step
};

// Runs five steps over the data set, with one micro-batch per pack.
template <class On>
trained train(On on, data_set const& data, ballast::groups<> const& packs) {
  ballast::label_options const shifted{.shift = ballast::label_shift::done};
  auto const sequences = packs.members.size();
  auto const offsets = gpu::send(on, packs.offsets);
  auto const members = gpu::send(on, packs.members);
  auto const lengths = gpu::send(on, data.lengths);
  auto const cu = gpu::cu_seqlens(on, offsets.data(), packs.size(), members.data(), sequences, lengths.data(), data.lengths.size());
  struct micro_batch {
    std::size_t row, sequences;
    std::int32_t const* cu;
    gpu::array<std::int64_t, On> tokens, labels;
    gpu::array<std::int32_t, On> positions;
  };
  std::vector<micro_batch> batches;
  gpu::array<std::int64_t, On> const counts(on, sequences);
  gpu::array<std::uint64_t, On> const bad(on, 1);
  for (std::size_t p = 0; p < packs.size(); ++p) {
    std::vector<std::int64_t> tokens, labels;
    for (auto const i : packs[p]) {
      tokens.insert(tokens.end(), data.tokens[i].begin(), data.tokens[i].end());
      labels.insert(labels.end(), data.labels[i].begin(), data.labels[i].end());
    }
    auto const* const of_pack = cu.data() + packs.offsets[p] + p;
    auto const row = tokens.size(), in_pack = packs[p].size();
    batches.push_back(
        {row, in_pack, of_pack, gpu::send(on, tokens), gpu::send(on, labels), gpu::position_ids(on, of_pack, nullptr, 1, in_pack, row)});
    gpu::call(on, "label_counts", [&](void* temp, std::size_t& bytes) {
      return gpu::label_counts(on, temp, bytes, batches[p].labels.data(), row, of_pack, in_pack, shifted, counts.data() + packs.offsets[p],
                               bad.data());
    });
  }

  // The weights need only labels, so they are computed before the first forward pass. Your all-reduce over ranks goes between these two.
  auto const normaliser = ballast::loss_normaliser::token_mean();
  gpu::array<ballast::loss_totals, On> const totals(on, 1);
  gpu::array<double, On> const weight(on, sequences);
  gpu::call(on, "loss_totals_of", [&](void* temp, std::size_t& bytes) {
    return gpu::loss_totals_of(on, temp, bytes, counts.data(), sequences, normaliser, totals.data(), bad.data());
  });
  gpu::call(on, "loss_weights", [&](void* temp, std::size_t& bytes) {
    return gpu::loss_weights(on, temp, bytes, counts.data(), sequences, totals.data(), normaliser, {}, nullptr, weight.data(), bad.data());
  });

  trained out{std::vector<double>(parameters), {}, 0};
  auto const model = gpu::send(on, out.weights);
  for (int step = 0; step < 5; ++step) {
    std::vector<gradient> sums(parameters);
    gradient loss;
    for (std::size_t p = 0; p < batches.size(); ++p) {
      auto const& b = batches[p];
      gpu::array<double, On> const means(on, b.row * width), slopes(on, b.row * words), added(on, b.row * parameters);
      gpu::array<float, On> const losses(on, b.row);
      gpu::check(on.for_each(b.row, forward{b.tokens.data(), b.labels.data(), b.positions.data(), model.data(), means.data(), slopes.data(),
                                            losses.data()}),
                 "forward");
      auto const weighted = gpu::weighted_loss<double>(on, losses.data(), b.labels.data(), b.row, b.cu, b.sequences,
                                                       weight.data() + packs.offsets[p], shifted);
      gpu::check(on.for_each(b.row * parameters, backward{means.data(), slopes.data(), weighted.scale.data(), b.row, added.data()}),
                 "backward");
      std::vector<std::int64_t> ends;
      for (std::size_t k = 0; k <= parameters; ++k) ends.push_back(static_cast<std::int64_t>(k * b.row));
      auto const bounds = gpu::send(on, ends);
      auto const of_batch = gpu::fixed_point_sums<44>(on, added.data(), b.row * parameters, bounds.data(), parameters);
      auto const fetched = gpu::fetch(on, of_batch.data(), parameters);
      for (std::size_t k = 0; k < parameters; ++k) sums[k] += fetched[k];
      loss += weighted.total;
    }
    for (std::size_t k = 0; k < parameters; ++k) {
      if (step == 0) out.first_gradient.push_back(sums[k].value());
      out.weights[k] -= 400.0 * sums[k].value();
    }
    out.loss = loss.value();
    gpu::check(on.upload(model.data(), out.weights.data(), parameters), "upload");
  }
  return out;
}

// Computes the gradient of the mean loss of all tokens at parameters of 0 directly: sample by sample, without packs or weights.
std::vector<double> plain_gradient(data_set const& data) {
  std::vector<double> out(parameters);
  double tokens = 0;
  for (std::size_t i = 0; i < data.tokens.size(); ++i) {
    double total[width] = {};
    for (std::size_t t = 0; t < data.tokens[i].size(); ++t) {
      for (std::size_t f = 0; f < width; ++f) total[f] += embedding(data.tokens[i][t], f);
      if (data.labels[i][t] < 0) continue;
      ++tokens;
      for (std::size_t k = 0; k < parameters; ++k) {
        auto const is_label = static_cast<std::int64_t>(k / width) == data.labels[i][t];
        out[k] += (1.0 / words - (is_label ? 1 : 0)) * total[k % width] / static_cast<double>(t + 1);
      }
    }
  }
  for (auto& g : out) g /= tokens;
  return out;
}

}  // namespace

int main() {
#if defined(__CUDACC__)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::cout << "no CUDA device: skipped\n";
    return 77;
  }
  gpu::on_stream const on{};
#else
  gpu::on_host const on{};
#endif
  auto const data = draw_data();
  auto const lengths = gpu::send(on, data.lengths);
  auto const packing = gpu::best_fit_decreasing(on, lengths.data(), data.lengths.size(), {.capacity = 256}).packs;
  ballast::groups<> const packs{gpu::fetch(on, packing.offsets), gpu::fetch(on, packing.members)};
  ballast::groups<> alone;
  for (std::uint32_t i = 0; i < data.lengths.size(); ++i) alone.push_back(std::vector{i});

  auto const packed = train(on, data, packs), unpacked = train(on, data, alone);
  auto const plain = plain_gradient(data);
  double off = 0;
  for (std::size_t k = 0; k < parameters; ++k) off = std::fmax(off, std::abs(packed.first_gradient[k] - plain[k]));
  auto const same = packed.weights == unpacked.weights && packed.loss == unpacked.loss;
  std::cout << data.lengths.size() << " samples in " << packs.size() << " packs: loss " << packed.loss << " after 5 steps, "
            << (same ? "the same bits" : "NOT the same") << " as one sample a row; the gradient is " << off << " from the plain mean's\n";
  return same && off < 1e-9 && packed.loss < std::log(words) ? 0 : 1;
}
