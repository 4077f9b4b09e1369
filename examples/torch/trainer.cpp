// SPDX-License-Identifier: Apache-2.0
// Trains a small GPT with libtorch on several ranks, which are processes here. Every rank plans alone; they exchange counts of labels and
// gradients. The run is stopped in mid-epoch, saved and resumed, and ends with the same parameters as a run that was never stopped.
#include "ranks.hpp"

#include <ballast/core/random.hpp>
#include <ballast/layout.hpp>
#include <ballast/loss.hpp>
#include <ballast/plan.hpp>
#include <ballast/plan/training_run.hpp>

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t vocabulary = 64, hidden = 32, heads = 4, capacity = 256;

/// The memory of a tensor: ballast writes into it, so nothing is copied and nothing dangles.
template <class T>
std::span<T> span_of(torch::Tensor const& tensor) {
  return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())};
}

/// A packed row as the model takes it.
struct micro_batch {
  torch::Tensor tokens, labels, positions, cu_seqlens;
  std::vector<std::int64_t> counts;  // labels of each sample
};

struct block_impl : torch::nn::Module {
  torch::nn::LayerNorm before_attention{torch::nn::LayerNormOptions({hidden})}, before_mlp{torch::nn::LayerNormOptions({hidden})};
  torch::nn::Linear qkv{hidden, 3 * hidden}, out{hidden, hidden}, up{hidden, 4 * hidden}, down{4 * hidden, hidden};

  block_impl() {
    register_module("before_attention", before_attention);
    register_module("before_mlp", before_mlp);
    register_module("qkv", qkv);
    register_module("out", out);
    register_module("up", up);
    register_module("down", down);
  }
  torch::Tensor forward(torch::Tensor x, std::span<std::int32_t const> cu_seqlens) {
    auto const n = x.size(0);
    auto const parts = qkv(before_attention(x)).view({n, 3, heads, hidden / heads}).permute({1, 2, 0, 3}).unsqueeze(1);
    std::vector<torch::Tensor> mixed;  // sample by sample; on a GPU, one call of a kernel that takes cu_seqlens
    for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
      auto const of = [&](std::int64_t k) { return parts[k].slice(2, cu_seqlens[i - 1], cu_seqlens[i]); };
      mixed.push_back(torch::scaled_dot_product_attention(of(0), of(1), of(2), {}, 0.0, /*is_causal=*/true));
    }
    x = x + out(torch::cat(mixed, 2).squeeze(0).permute({1, 0, 2}).reshape({n, hidden}));
    return x + down(torch::gelu(up(before_mlp(x))));
  }
};
TORCH_MODULE_IMPL(block, block_impl);

struct gpt_impl : torch::nn::Module {
  torch::nn::Embedding token{vocabulary, hidden}, position{capacity, hidden};
  block first, second;
  torch::nn::Linear head{hidden, vocabulary};

  gpt_impl() {
    register_module("token", token);
    register_module("position", position);
    register_module("first", first);
    register_module("second", second);
    register_module("head", head);
  }
  torch::Tensor forward(micro_batch const& batch) {
    auto const cu_seqlens = span_of<std::int32_t>(batch.cu_seqlens);
    return head(second(first(token(batch.tokens) + position(batch.positions), cu_seqlens), cu_seqlens));
  }
};
TORCH_MODULE_IMPL(gpt, gpt_impl);

std::vector<std::int64_t> draw_lengths(std::size_t samples) {
  std::vector<std::int64_t> lengths(samples);
  ballast::splitmix64 draw(1);
  for (auto& l : lengths) l = static_cast<std::int64_t>(4 + draw() % (draw() % 8 == 0 ? capacity - 3 : 40));
  return lengths;
}

/// From a pack of samples to tensors. Yours reads tokens from your data set; here they follow from the number of the sample.
micro_batch collate(std::span<std::uint32_t const> pack, std::vector<std::int64_t> const& lengths) {
  auto const size = ballast::packed_row_size(pack, lengths);
  auto const tokens = static_cast<std::int64_t>(size.tokens);
  micro_batch out;
  out.cu_seqlens = torch::empty({static_cast<std::int64_t>(size.offsets)}, torch::kInt32);
  for (auto* tensor : {&out.tokens, &out.labels, &out.positions}) *tensor = torch::empty({tokens}, torch::kInt64);
  ballast::write_packed_row(pack, lengths,
                            ballast::row_spans<std::int32_t, std::int64_t>{.cu_seqlens = span_of<std::int32_t>(out.cu_seqlens),
                                                                           .position_ids = span_of<std::int64_t>(out.positions)});
  std::size_t at = 0;
  for (auto const sample : pack)
    for (std::int64_t t = 0; t < lengths[sample]; ++t, ++at) {
      auto const token = (7 * static_cast<std::int64_t>(sample) + t * t) % vocabulary;
      span_of<std::int64_t>(out.tokens)[at] = token;
      span_of<std::int64_t>(out.labels)[at] = t < lengths[sample] / 4 ? -100 : token;  // the prompt is not learnt
    }
  out.counts = ballast::label_counts(span_of<std::int64_t>(out.labels), span_of<std::int32_t>(out.cu_seqlens));
  return out;
}

/// The sum over the labels of a micro-batch, each by its weight.
torch::Tensor weighted_loss(gpt& model, micro_batch const& batch, std::vector<double> const& weights) {
  auto const n = batch.labels.numel();
  auto const per_token = torch::empty({n}, torch::kFloat32);
  ballast::token_weights<float>(weights, span_of<std::int64_t>(batch.labels), span_of<std::int32_t>(batch.cu_seqlens),
                                span_of<float>(per_token));
  auto const losses = torch::nn::functional::cross_entropy(  // of labels 1 to n - 1, each predicted by the token before
      model(batch).slice(0, 0, n - 1), batch.labels.slice(0, 1, n),
      torch::nn::functional::CrossEntropyFuncOptions().ignore_index(-100).reduction(torch::kNone));
  return (losses * per_token.slice(0, 1, n)).sum();
}

/// Forward and backward of this rank's micro-batches, and the exchange. Returns the loss of the step.
double accumulate(gpt& model, std::vector<micro_batch> const& batches, ballast::loss_preset const& preset, rank_group& group) {
  ballast::loss_totals totals;
  for (auto const& batch : batches) totals += ballast::loss_totals_of(batch.counts, preset.normaliser);
  group.sum(std::span<std::int64_t>(totals.words));
  double loss = 0;
  for (auto const& batch : batches) {
    auto const of_batch = weighted_loss(model, batch, ballast::loss_weights(batch.counts, totals, preset.normaliser, preset.path));
    loss += of_batch.item<double>() / static_cast<double>(group.size);
    of_batch.backward();
  }
  for (auto& parameter : model->parameters()) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = torch::zeros_like(parameter);
    group.sum(span_of<float>(parameter.grad()));
    parameter.mutable_grad() /= static_cast<double>(group.size);  // ranks average, as DDP does
  }
  group.sum(std::span(&loss, 1));
  return loss;
}

/// How far the gradient of the step in the model is from that of its samples one by one, without packing and ranks; relative.
template <class Run>
double distance_from_unpacked(gpt& model, Run const& run, std::uint64_t ranks, std::vector<std::int64_t> const& lengths) {
  std::vector<micro_batch> alone;
  std::int64_t labels = 0;
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    for (auto const pack : run.packs_of(rank))
      for (auto const sample : pack) {
        alone.push_back(collate(std::span(&sample, 1), lengths));
        labels += alone.back().counts[0];
      }
  std::vector<torch::Tensor> packed;
  for (auto const& parameter : model->parameters()) packed.push_back(parameter.grad().clone());
  model->zero_grad();
  for (auto const& sample : alone) weighted_loss(model, sample, {1 / static_cast<double>(labels)}).backward();
  double difference = 0, largest = 0;
  for (std::size_t k = 0; k < packed.size(); ++k) {
    auto const unpacked = model->parameters()[k].grad();
    difference = std::max(difference, (unpacked - packed[k]).abs().max().item<double>());
    largest = std::max(largest, unpacked.abs().max().item<double>());
    model->parameters()[k].mutable_grad() = packed[k];
  }
  return difference / largest;
}

/// Trains from a checkpoint, if there is one, for at most so many steps. Rank 0 then saves model, optimiser and state, if it was stopped.
std::vector<float> train(rank_group group, std::string const& file, bool resume, std::uint64_t most_steps) {
  torch::manual_seed(7);
  gpt model;
  torch::optim::SGD optimiser(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto const lengths = draw_lengths(600);
  ballast::training_run run(lengths,
                            {.data = {.steps = {.capacity = capacity, .ranks = group.size, .micro_batches = 2, .seed = 2026}}, .epochs = 2},
                            ballast::token_cost{});
  auto preset = ballast::loss_preset_named("hf");
  preset.path.ranks = static_cast<std::int64_t>(group.size);
  if (resume) {
    torch::load(model, file + ".model");
    torch::load(optimiser, file + ".optimiser");
    std::ifstream in(file + ".run");
    run.resume(ballast::run_state::from_words(std::vector<std::uint64_t>(std::istream_iterator<std::uint64_t>(in), {})));
  }
  while (!run.done() && most_steps-- > 0) {
    auto const at = run.next();
    std::vector<micro_batch> batches;
    for (auto const pack : run.packs_of(group.rank)) batches.push_back(collate(pack, lengths));
    optimiser.zero_grad();
    auto const loss = accumulate(model, batches, preset, group);
    if (group.rank == 0 && at.step == 0) {
      auto const distance = distance_from_unpacked(model, run, group.size, lengths);
      std::cout << "the gradient differs from that of unpacked samples by " << distance << " of its largest entry\n";
      if (!(distance < 1e-4)) throw std::runtime_error("packing changes the gradient");
    }
    optimiser.step();
    if (group.rank == 0 && at.step % 8 == 0) std::cout << "step " << at.step << " of " << run.steps() << ": loss " << loss << '\n';
  }
  if (!run.done() && group.rank == 0) {
    torch::save(model, file + ".model");
    torch::save(optimiser, file + ".optimiser");
    std::ofstream out(file + ".run");
    for (auto const word : run.state().words()) out << word << '\n';
  }
  std::vector<float> parameters;
  for (auto const& parameter : model->parameters()) {
    auto const values = span_of<float>(parameter);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  return parameters;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const file = argc > 1 ? argv[1] : "torch_trainer";
  auto const everything = std::uint64_t{1} << 40;
  auto const straight = on_ranks(4, [&](rank_group group) { return train(group, file, false, everything); });
  static_cast<void>(on_ranks(4, [&](rank_group group) { return train(group, file, false, 10); }));
  auto const resumed = on_ranks(4, [&](rank_group group) { return train(group, file, true, everything); });
  auto const same = !straight.empty() && resumed == straight;
  std::cout << "stopped after 10 steps, saved and resumed: " << (same ? "the same parameters\n" : "other parameters\n");
  auto const elsewhere = on_ranks(3, [&](rank_group group) { return train(group, file, true, everything); });
  std::cout << "resumed on 3 ranks: " << (elsewhere.empty() ? "failed\n" : "done\n");
  return same && !elsewhere.empty() ? 0 : 1;
}
