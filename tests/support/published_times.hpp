// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/time_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// Published throughputs of trainings with their settings. The constants of `kernel_rates` that are called fitted were fitted to these rows,
// without those of gpt-oss. As many again, chosen by a hash of their settings, are not part of the repository.

namespace ballast_test {

/// A run: what was run, and how fast.
struct time_row {
  std::string_view model;                                  ///< a name of `timed_model`
  std::string_view device;                                 ///< a name of `ballast::devices`
  std::int64_t gpus, sequence, micro_batch, global_batch;  ///< batches in sequences
  std::int64_t tensor, stages, chunks, context, expert;    ///< degrees; `chunks` of a stage
  int zero;                                                ///< ZeRO stage
  std::string_view kernels;    ///< precision, whose kernels, attention, and "deepep" if tokens are sent once to each node
  std::string_view recompute;  ///< empty: nothing
  std::string_view flags;      ///< exchanges that overlap ("tp", "dp", "ep"), "graphs" of parts or "layer-graphs", "cp-gather": PyTorch's
                               ///< context parallelism, "reduce32": gradients are reduced in float32
  double measured;             ///< tokens per second and GPU
  double reference;            ///< the same as another program computed it from the same formulas and constants, in floating point
};

/// Rows of one source.
struct time_group {
  std::string_view name, sweep;  ///< `sweep`: rows whose ranks can be compared; empty: none
  std::string_view source;
  double network;          ///< GB/s of each GPU to other nodes
  std::string_view table;  ///< a row a line
};

/// A row with its group.
struct timed_run : time_row {
  time_group const* group;
};

/// Whether a list of words separated by spaces has one.
[[nodiscard]] inline bool has_word(std::string_view list, std::string_view word) {
  for (auto at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1)) {
    auto const end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

/// The shape of a model: a preset of the library where it has one.
[[nodiscard]] inline ballast::transformer timed_model(std::string_view name) {
  using namespace ballast;
  struct dense {
    std::string_view name;
    std::int64_t layers, hidden, heads, kv_heads, width, ffn, vocabulary;
    bool gated, tied;
  };
  static constexpr dense known[] = {
      {"mpt-125m", 12, 768, 12, 12, 64, 3072, 50368, false, true},
      {"mpt-350m", 24, 1024, 16, 16, 64, 4096, 50368, false, true},
      {"mpt-760m", 24, 1536, 12, 12, 128, 6144, 50368, false, true},
      {"mpt-1b", 24, 2048, 16, 16, 128, 8192, 50368, false, true},
      {"mpt-3b", 32, 2560, 20, 20, 128, 10240, 50368, false, true},
      {"mpt-7b", 32, 4096, 32, 32, 128, 16384, 50368, false, true},
      {"mpt-13b", 40, 5120, 40, 40, 128, 20480, 50368, false, true},
      {"mpt-30b", 48, 7168, 56, 56, 128, 28672, 50368, false, true},
      {"mpt-70b", 80, 8192, 64, 64, 128, 32768, 50368, false, true},
      {"llama2-7b", 32, 4096, 32, 32, 128, 11008, 32000, true, false},
      {"llama2-13b", 40, 5120, 40, 40, 128, 13824, 32000, true, false},
      {"llama2-34b", 48, 8192, 64, 8, 128, 22016, 32000, true, false},
      {"llama2-70b", 80, 8192, 64, 8, 128, 28672, 32000, true, false},
      {"gpt3-175b-2205", 96, 12288, 96, 96, 128, 49152, 51200, false, true},
      {"kor-22b", 48, 6144, 64, 64, 96, 24576, 51200, false, true},
      {"kor-1t", 128, 25600, 160, 160, 160, 102400, 51200, false, true},
      {"nemotron-22b", 40, 6144, 48, 48, 128, 24576, 256000, false, false},
      {"nemotron-340b", 96, 18432, 96, 8, 192, 73728, 256000, false, false},
  };
  for (auto const& d : known)
    if (d.name == name)
      return {.layers = d.layers,
              .hidden = d.hidden,
              .query_heads = d.heads,
              .kv_heads = d.kv_heads,
              .head_width = d.width,
              .ffn = d.ffn,
              .gated = d.gated,
              .vocabulary = d.vocabulary,
              .tied = d.tied};
  if (name.starts_with("gpt-oss")) {
    auto const large = name == "gpt-oss-120b";
    return {.layers = large ? 36 : 24,
            .hidden = 2880,
            .query_heads = 64,
            .kv_heads = 8,
            .head_width = 64,
            .vocabulary = 201088,
            .window = 128,
            .windowed = ~layer_set::every(2),  // layers 0, 2, 4 ...
            .experts = large ? 128 : 32,
            .active_experts = 4,
            .expert_ffn = 2880,
            .sinks = true};
  }
  if (name == "moonlight-16b")
    return {.layers = 27,
            .hidden = 2048,
            .query_heads = 16,
            .kv_heads = 16,
            .head_width = 192,
            .ffn = 11264,
            .vocabulary = 163840,
            .kv_rank = 512,
            .rope_width = 64,
            .v_width = 128,
            .experts = 64,
            .active_experts = 6,
            .expert_ffn = 1408,
            .shared_ffn = 2816,
            .expert_layers = layer_set::from(1),
            .router_bias = true};
  auto const without = std::string_view("deepseek-v3-nomtp");
  auto out = transformer_preset(name == without ? "deepseek-v3" : name);
  if (name == "deepseek-v3") out.mtp_layers = 1;
  return out;
}

/// What a row asks of `time_of`.
struct timed_question {
  ballast::transformer model;
  ballast::training_setting by;
  ballast::device on;
  ballast::time_setting with;

  [[nodiscard]] std::vector<ballast::time_parts> parts() const { return ballast::time_of(model, by, on, with); }
  /// Tokens per second and GPU of a step that takes so many picoseconds.
  [[nodiscard]] double tokens_per_second(std::int64_t picoseconds) const {
    return static_cast<double>(by.global_batch() * by.sequence) / static_cast<double>(by.gpus()) /
           (static_cast<double>(picoseconds) * 1e-12);
  }
};

/// Chunks of a model whose layers they do not divide, as recipes of Megatron-Bridge cut it: the embedding, the head and each layer for
/// multi-token prediction are one layer more of the first or of the last chunk. Empty if chunks are equal.
[[nodiscard]] inline std::vector<std::uint32_t> recipe_cut(ballast::transformer const& model, std::int64_t chunks) {
  if (model.layers % chunks == 0) return {};
  auto const slots = ballast::divide_up(model.layers + model.mtp_layers + 2, chunks);
  std::vector<std::int64_t> layers(static_cast<std::size_t>(chunks), 0);
  layers.front() = slots - 1;
  layers.back() = slots - 1 - model.mtp_layers;
  auto const rest = model.layers - layers.front() - layers.back(), between = chunks - 2;
  for (std::int64_t c = 0; c < between; ++c) layers[static_cast<std::size_t>(c + 1)] = rest / between + (c < rest % between ? 1 : 0);
  return ballast::cut_by_layers(model, layers);
}

/// Model, setting, device and kernels of a row.
[[nodiscard]] inline timed_question question_of(timed_run const& row) {
  using namespace ballast;
  timed_question out{.model = timed_model(row.model), .by = {}, .on = device_named(row.device), .with = {}};
  auto const ranks = (std::max)(std::int64_t{1}, row.gpus / (row.tensor * row.stages * row.context));
  auto const eager = has_word(row.kernels, "eager"), engine = has_word(row.kernels, "te");
  auto& by = out.by;
  by.model = {.spread = {.tensor = row.tensor,
                         .context = row.context,
                         .data = ranks * row.context,
                         .sequence_parallel = row.tensor > 1,
                         .zero = row.zero},
              .expert = row.expert,
              .expert_tensor = 1,
              .framework = framework_named(engine  ? "megatron"
                                           : eager ? "eager"
                                                   : "compiled"),
              .attention = has_word(row.kernels, "unfused") ? attention_kernel::stored_scores : attention_kernel::fused};
  if (row.model.starts_with("mpt")) by.model.loss = {.how = head_loss::kind::fused};
  by.model.kernels.tensor_overlap = has_word(row.flags, "tp");
  by.model.kernels.expert_overlap = has_word(row.flags, "ep");
  by.pipeline.stages = static_cast<std::uint64_t>(row.stages);
  if (row.chunks > 1) by.pipeline.schedule = interleaved_schedule{.chunks = static_cast<std::uint64_t>(row.chunks)};
  by.boundaries = recipe_cut(out.model, row.stages * row.chunks);
  by.sequence = row.sequence;
  by.micro_batch = row.micro_batch;
  auto const each = ranks * row.micro_batch;
  by.micro_batches = (std::max)(std::int64_t{1}, (row.global_batch + each / 2) / each);

  using enum recompute_module;
  using kind = recompute_setting::kind;
  module_set modules;
  struct {
    std::string_view word;
    recompute_module module;
  } const words[] = {{"norm", layernorm}, {"act", moe_activation},      {"moe", moe}, {"mla_up", mla_up_projection},
                     {"mlp", mlp},        {"core_attn", core_attention}};
  for (auto const& w : words)
    if (has_word(row.recompute, w.word)) modules = modules.with(w.module);
  if (!modules.empty()) by.recompute = {.what = kind::modules, .modules = modules};
  if (row.recompute == "full") by.recompute = {.what = kind::uniform};
  if (row.recompute == "alternate") by.recompute = {.what = kind::alternate, .layers = 2};
  if (row.recompute == "op") by.recompute = {.what = kind::products};

  out.on.network_bandwidth = std::llround(row.group->network * 1e9);
  out.with = {.rates = kernels_for(out.on,
                                   engine  ? kernel_family::engine
                                   : eager ? kernel_family::eager
                                           : kernel_family::compiled,
                                   row.kernels.find("fp8") != std::string_view::npos),
              .attention = has_word(row.kernels, "fa1")   ? attention_library::flash1
                           : has_word(row.kernels, "fa2") ? attention_library::flash2
                                                          : attention_library::cudnn,
              .dispatcher = has_word(row.kernels, "deepep") ? token_dispatcher::once : token_dispatcher::all_to_all,
              .graphs = has_word(row.flags, "graphs")         ? graph_scope::parts
                        : has_word(row.flags, "layer-graphs") ? graph_scope::layers
                                                              : graph_scope::none,
              .gradient_overlap = has_word(row.flags, "dp"),
              .float_reduction = has_word(row.flags, "reduce32"),
              .gathered_context = has_word(row.flags, "cp-gather")};
  return out;
}

/// A row with what the model makes of it.
struct timed_result {
  timed_run row;
  ballast::time_parts slowest;  ///< of the stage that waits least
  double modelled;              ///< tokens per second and GPU
  [[nodiscard]] double error() const { return modelled / row.measured - 1; }
  [[nodiscard]] bool dense() const { return timed_model(row.model).experts == 0; }
};

/// Times a row.
[[nodiscard]] inline timed_result timed(timed_run const& row) {
  auto const asked = question_of(row);
  auto const slowest = ballast::slowest_of(asked.parts());
  return {row, slowest, asked.tokens_per_second(slowest.total())};
}

/// Spearman's rank correlation; ties have the mean of their ranks, and 0 is returned if all values of a list are equal.
[[nodiscard]] inline double rank_correlation(std::vector<double> const& a, std::vector<double> const& b) {
  auto const ranks = [](std::vector<double> const& x) {
    std::vector<double> out;
    for (auto const v : x) {
      double below = 0, equal = 0;
      for (auto const w : x) below += w < v ? 1 : 0, equal += w == v ? 1 : 0;
      out.push_back(below + (equal - 1) / 2);
    }
    return out;
  };
  auto const x = ranks(a), y = ranks(b);
  auto const mean = (static_cast<double>(x.size()) - 1) / 2;
  double both = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    both += (x[i] - mean) * (y[i] - mean);
    first += (x[i] - mean) * (x[i] - mean);
    second += (y[i] - mean) * (y[i] - mean);
  }
  return first * second > 0 ? both / std::sqrt(first * second) : 0;
}

/// The value below which a share of a list lies: the smallest with at least `share` of all values up to it.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  auto const at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[(std::min)(at, values.size() - 1)];
}

/// Groups of rows. A line has: model, device, GPUs, tokens of a sequence, sequences of a micro-batch and of a step; degrees: tensor,
/// stages, chunks of a stage, context, expert; ZeRO stage | kernels | recomputed | flags | measured, reference.
inline constexpr time_group published_time_tables[] = {
    {"mpt-h100", "", "llm-foundry scripts/train/benchmarking/README.md", 50, R"(
mpt-70b h100 256 2048 8 2048  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1035 1034.81
mpt-13b h100 512 2048 16 8192  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 4952 4880.61
mpt-7b h100 512 2048 6 3072  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 9670 10728
mpt-7b h100 256 2048 6 1536  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 10119 10771.8
mpt-7b h100 128 2048 6 768  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 10475 10804.8
mpt-3b h100 128 2048 8 1024  1 1 1 1 1  2 | bf16 eager fa1 | | reduce32 | 23422 23473.6
mpt-1b h100 512 2048 12 6144  1 1 1 1 1  2 | bf16 eager fa1 | | reduce32 | 39837 44405.1
mpt-30b h100 8 8192 1 168  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1384 1721.56
mpt-30b h100 32 2048 14 1344  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2308 2274.79
mpt-30b h100 16 2048 10 480  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2263 2245.48
mpt-30b h100 8 2048 3 504  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2002 2025.28
mpt-30b h100 8 1024 6 1008  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2084 2100.1
mpt-13b h100 8 32768 1 24  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1976 1941.42
mpt-13b h100 8 16384 3 72  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2985 2896.61
mpt-13b h100 8 4096 10 240  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 4717 4535.46
mpt-13b h100 64 2048 2 128  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 4800 4881.73
mpt-13b h100 16 2048 2 32  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 4767 4808.8
mpt-13b h100 8 1024 40 960  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 5502 5289
mpt-7b h100 8 32768 2 32  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 3318 3230.41
mpt-7b h100 8 8192 8 128  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 6935 6724.76
mpt-3b h100 8 32768 3 144  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 5873 5675.1
mpt-3b h100 8 16384 1 48  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 11152 11272.7
mpt-3b h100 8 1024 20 960  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 27046 26836.3
mpt-3b h100 8 512 40 1920  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 27965 28113.9
mpt-1b h100 8 16384 2 64  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 19649 20113
mpt-1b h100 32 2048 20 640  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 45130 46311.3
mpt-1b h100 16 2048 20 320  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 46037 46391.8
mpt-1b h100 8 2048 14 112  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 45455 45341.5
mpt-1b h100 8 1024 18 576  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 48910 50257.7
mpt-760m h100 8 32768 1 16  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 16291 16559.4
mpt-760m h100 8 16384 3 48  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 27815 27999
mpt-760m h100 8 8192 6 96  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 41825 42532
mpt-760m h100 8 4096 12 192  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 55459 57439
mpt-760m h100 16 2048 24 384  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 68551 68413.1
mpt-760m h100 8 512 96 1536  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 83749 82837.9
)"},
    {"mpt-h100-fp8", "", "llm-foundry scripts/train/benchmarking/README.md", 50, R"(
mpt-3b h100 8 32768 3 144  1 1 1 1 1  3 | fp8 eager fa1 | full | reduce32 | 5856 6029.65
mpt-3b h100 8 2048 10 480  1 1 1 1 1  3 | fp8 eager fa1 | | reduce32 | 30586 30728.8
mpt-3b h100 8 512 40 1920  1 1 1 1 1  3 | fp8 eager fa1 | | reduce32 | 36527 36416.5
mpt-1b h100 8 8192 2 64  1 1 1 1 1  3 | fp8 eager fa1 | | reduce32 | 32010 32431
mpt-1b h100 8 512 56 1792  1 1 1 1 1  3 | fp8 eager fa1 | | reduce32 | 70315 67353.7
)"},
    {"mpt-a100", "", "llm-foundry scripts/train/benchmarking/README.md", 25, R"(
mpt-70b a100 32 2048 2 1024  1 1 1 1 1  3 | bf16 eager fa1 | full | | 373 372.699
mpt-30b a100 8 8192 1 168  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 574 742.564
mpt-30b a100 8 4096 1 168  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 814 762.982
mpt-30b a100 8 2048 3 504  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 916 845.375
mpt-13b a100 8 32768 1 24  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1016 933.749
mpt-13b a100 8 4096 10 240  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2060 1899.04
mpt-13b a100 8 2048 2 48  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 2262 2220.88
mpt-13b a100 8 1024 40 960  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2330 2134.42
mpt-7b a100 8 65536 1 16  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1013 970.559
mpt-7b a100 8 32768 2 32  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 1672 1577.6
mpt-7b a100 8 16384 4 64  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 2453 2295.44
mpt-7b a100 8 8192 8 128  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 3206 2971.49
mpt-7b a100 8 1024 64 1024  1 1 1 1 1  3 | bf16 eager fa1 | full | reduce32 | 4357 4003.04
mpt-3b a100 8 8192 3 144  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 7695 7704.85
mpt-3b a100 8 4096 5 240  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 9457 9488.72
mpt-3b a100 8 512 40 1920  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 12127 11982.8
mpt-1b a100 8 16384 2 64  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 9956 9839.26
mpt-1b a100 8 8192 3 96  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 13814 13883.8
mpt-1b a100 8 4096 7 224  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 17807 17634.3
mpt-1b a100 8 512 56 1792  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 23148 22964.1
mpt-760m a100 8 32768 1 16  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 8802 8610.38
mpt-760m a100 8 8192 6 96  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 20933 20811.4
mpt-760m a100 8 4096 12 192  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 27351 27197.9
mpt-350m a100 8 65536 1 16  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 7524 7447.3
mpt-350m a100 8 16384 4 64  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 23559 22721.2
mpt-350m a100 8 4096 16 256  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 49555 46629.4
mpt-350m a100 8 1024 64 1024  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 64813 63272.6
mpt-350m a100 8 512 128 2048  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 69330 67271.9
mpt-125m a100 8 16384 4 64  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 60040 60019.6
mpt-125m a100 8 4096 16 256  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 118396 121967
mpt-125m a100 8 2048 40 640  1 1 1 1 1  3 | bf16 eager fa1 | | reduce32 | 142830 148370
)"},
    {"mpt-a100-40", "", "llm-foundry scripts/train/benchmarking/README.md", 25, R"(
mpt-70b a100-40gb 64 2048 2 128  1 1 1 1 1  3 | bf16 eager fa1 | full | | 276 357.487
mpt-30b a100-40gb 128 2048 6 768  1 1 1 1 1  3 | bf16 eager fa1 | full | | 865 859.457
mpt-30b a100-40gb 32 2048 4 128  1 1 1 1 1  3 | bf16 eager fa1 | full | | 857 832.83
mpt-13b a100-40gb 8 8192 1 128  1 1 1 1 1  3 | bf16 eager fa1 | full | | 1407 1542.01
mpt-13b a100-40gb 128 2048 16 2048  1 1 1 1 1  3 | bf16 eager fa1 | full | | 1972 1970.88
mpt-13b a100-40gb 64 2048 16 1024  1 1 1 1 1  3 | bf16 eager fa1 | full | | 1976 1975.96
mpt-13b a100-40gb 8 1024 8 1024  1 1 1 1 1  3 | bf16 eager fa1 | full | | 1727 1949.3
mpt-7b a100-40gb 8 4096 6 192  1 1 1 1 1  3 | bf16 eager fa1 | full | | 3366 3350.21
mpt-7b a100-40gb 32 2048 18 576  1 1 1 1 1  3 | bf16 eager fa1 | full | | 3725 3656.16
mpt-7b a100-40gb 16 2048 16 256  1 1 1 1 1  3 | bf16 eager fa1 | full | | 3645 3649.79
mpt-7b a100-40gb 8 2048 12 384  1 1 1 1 1  3 | bf16 eager fa1 | full | | 3679 3653.48
mpt-3b a100-40gb 8 32768 1 32  1 1 1 1 1  3 | bf16 eager fa1 | full | | 2955 2811.41
mpt-3b a100-40gb 8 16384 2 128  1 1 1 1 1  3 | bf16 eager fa1 | full | | 4465 4317.38
mpt-3b a100-40gb 8 4096 2 128  1 1 1 1 1  3 | bf16 eager fa1 | |  | 8777 8739.79
mpt-3b a100-40gb 64 2048 6 384  1 1 1 1 1  3 | bf16 eager fa1 | |  | 9736 9838.43
mpt-3b a100-40gb 32 2048 6 192  1 1 1 1 1  3 | bf16 eager fa1 | |  | 9914 9847.06
mpt-1b a100-40gb 8 32768 1 32  1 1 1 1 1  3 | bf16 eager fa1 | full | | 5095 4871.58
mpt-1b a100-40gb 8 4096 4 256  1 1 1 1 1  3 | bf16 eager fa1 | |  | 16856 16792.6
mpt-1b a100-40gb 128 2048 10 1280  1 1 1 1 1  3 | bf16 eager fa1 | |  | 18647 18797.2
mpt-1b a100-40gb 8 2048 8 512  1 1 1 1 1  3 | bf16 eager fa1 | |  | 19271 19220.3
mpt-760m a100-40gb 8 32768 1 32  1 1 1 1 1  3 | bf16 eager fa1 | full | | 7183 6810.14
mpt-760m a100-40gb 8 16384 1 32  1 1 1 1 1  3 | bf16 eager fa1 | |  | 13914 13664.7
mpt-760m a100-40gb 8 8192 3 96  1 1 1 1 1  3 | bf16 eager fa1 | |  | 20106 20020.4
mpt-760m a100-40gb 32 2048 12 384  1 1 1 1 1  3 | bf16 eager fa1 | |  | 29648 29455.3
mpt-350m a100-40gb 8 32768 1 32  1 1 1 1 1  3 | bf16 eager fa1 | |  | 13416 13286.8
mpt-350m a100-40gb 8 4096 8 256  1 1 1 1 1  3 | bf16 eager fa1 | |  | 46833 44231.8
mpt-350m a100-40gb 64 2048 18 1152  1 1 1 1 1  3 | bf16 eager fa1 | |  | 52689 51568.9
mpt-350m a100-40gb 32 2048 18 576  1 1 1 1 1  3 | bf16 eager fa1 | |  | 53811 51711.2
mpt-350m a100-40gb 16 2048 18 288  1 1 1 1 1  3 | bf16 eager fa1 | |  | 55413 51820.2
mpt-350m a100-40gb 8 512 64 2048  1 1 1 1 1  3 | bf16 eager fa1 | |  | 66284 62392.6
mpt-125m a100-40gb 8 32768 1 32  1 1 1 1 1  3 | bf16 eager fa1 | |  | 32651 35160.4
mpt-125m a100-40gb 8 16384 2 48  1 1 1 1 1  3 | bf16 eager fa1 | |  | 55484 58099
mpt-125m a100-40gb 8 8192 5 120  1 1 1 1 1  3 | bf16 eager fa1 | |  | 86858 87006.2
mpt-125m a100-40gb 128 2048 26 3328  1 1 1 1 1  3 | bf16 eager fa1 | |  | 123936 132629
mpt-125m a100-40gb 32 2048 26 832  1 1 1 1 1  3 | bf16 eager fa1 | |  | 127122 133454
mpt-125m a100-40gb 16 2048 26 416  1 1 1 1 1  3 | bf16 eager fa1 | |  | 130535 133785
mpt-125m a100-40gb 8 2048 26 624  1 1 1 1 1  3 | bf16 eager fa1 | |  | 136334 139058
mpt-125m a100-40gb 8 512 104 2496  1 1 1 1 1  3 | bf16 eager fa1 | |  | 156735 163030
)"},
    {"torchtitan", "", "torchtitan benchmarks/llama3_h100_202412_torchtitan.md", 50, R"(
llama-3.1-8b h100-500w 8 8192 2 16  1 1 1 1 1  3 | bf16 eager fa2 | op | reduce32 | 5762 5314.81
llama-3.1-8b h100-500w 128 8192 2 256  1 1 1 1 1  3 | bf16 compile fa2 | op | reduce32 | 6514 6512.25
llama-3.1-8b h100-500w 128 8192 2 256  1 1 1 1 1  3 | fp8 compile fa2 | op | reduce32 | 8380 8461.63
)"},
    {"torchtitan", "tt-8b-cp", "torchtitan benchmarks/llama3_h100_202412_torchtitan.md", 50, R"(
llama-3.1-8b h100-500w 8 32768 1 8  1 1 1 1 1  3 | fp8 compile fa2 | full | cp-gather reduce32 | 3890 4047.32
llama-3.1-8b h100-500w 8 262144 1 1  1 1 1 8 1  3 | fp8 compile fa2 | full | cp-gather reduce32 | 548 548.958
)"},
    {"torchtitan", "tt-70b-tp", "torchtitan benchmarks/llama3_h100_202412_torchtitan.md", 50, R"(
llama-3.1-70b h100-500w 256 8192 16 512  8 1 1 1 1  3 | fp8 compile fa2 | full | tp reduce32 | 876 862.636
)"},
    {"torchtitan", "tt-70b-tp", "torchtitan benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md", 50, R"(
llama-3.1-70b h100-500w 256 8192 16 512  8 1 1 1 1  3 | bf16 compile fa2 | full | reduce32 | 597.3 583.8
llama-3.1-70b h100-500w 256 8192 16 512  8 1 1 1 1  3 | bf16 compile fa2 | full | tp reduce32 | 652.4 651.799
)"},
    {"torchtitan", "tt-405b", "torchtitan benchmarks/llama3_h100_202412_torchtitan.md", 50, R"(
llama-3.1-405b h100-500w 512 8192 1 256  8 8 2 1 1  3 | fp8 compile fa2 | full | tp reduce32 | 128 127.983
)"},
    {"torchtitan", "tt-a100", "torchtitan docs/performance.md", 25, R"(
llama2-13b a100 64 4096 2 128  1 1 1 1 1  3 | bf16 eager fa2 | | reduce32 | 2162 2223.26
llama2-13b a100 64 4096 2 128  1 1 1 1 1  3 | bf16 eager fa2 | alternate | reduce32 | 1914 1923.96
llama2-13b a100 64 4096 2 128  1 1 1 1 1  3 | bf16 eager fa2 | op | reduce32 | 1904 1909.45
llama2-70b a100 64 4096 2 128  1 1 1 1 1  3 | bf16 eager fa2 | full | reduce32 | 353 357.011
llama-3.1-70b a100 64 8192 1 64  1 1 1 1 1  3 | bf16 eager fa2 | full | reduce32 | 331 338.757
)"},
    {"fms", "", "pytorch.github.io _posts/2024-03-13-maximizing-training.md", 12.5, R"(
llama2-7b h100 96 4096 2 192  1 1 1 1 1  3 | bf16 eager fa2 | |  | 7500 8115.63
llama2-13b h100 96 4096 2 192  1 1 1 1 1  3 | bf16 eager fa2 | alternate | | 3800 3966.72
llama2-34b h100 96 4096 2 192  1 1 1 1 1  3 | bf16 eager fa2 | full | | 1550 1528.61
)"},
    {"fms", "", "pytorch.github.io _posts/2024-03-13-maximizing-training.md", 6.25, R"(
llama2-13b a100 128 4096 2 256  1 1 1 1 1  3 | bf16 eager fa2 | alternate | | 1800 1763.9
)"},
    {"nemo", "", "NeMo docs/source/performance/performance_summary.md", 50, R"(
llama2-13b h100 16 4096 1 128  1 4 10 1 1  1 | fp8 te cudnn | | tp dp | 8646 8936.52
nemotron-22b h100 64 4096 2 256  2 4 10 1 1  1 | fp8 te cudnn | | tp dp | 4256 4701.64
nemotron-340b h100 128 4096 1 32  8 8 12 1 1  1 | fp8 te cudnn | | tp dp | 322 308.856
)"},
    {"nemo", "", "docs.nvidia.com nemo-framework 24.12 performance_summary", 50, R"(
llama2-13b h100 16 4096 1 128  1 4 10 1 1  1 | fp8 te cudnn | | tp dp | 8715 8936.52
nemotron-22b h100 64 4096 2 256  2 4 10 1 1  1 | fp8 te cudnn | | tp dp | 4312 4701.64
nemotron-340b h100 128 4096 1 32  8 8 12 1 1  1 | fp8 te cudnn | | tp dp | 326 308.856
)"},
    {"nemo-long", "nemo-long", "NeMo docs/source/performance/performance_long_sequence.md", 50, R"(
llama2-7b h100 8 8192 1 512  1 2 1 1 1  1 | fp8 te fa2 | | tp dp | 13897.1 13886.9
llama2-7b h100 16 16384 1 256  2 1 1 1 1  1 | fp8 te fa2 | | tp dp | 10089.6 10122.2
llama2-7b h100 64 65536 1 64  4 1 1 2 1  1 | fp8 te fa2 | | tp dp | 4021.8 3929.87
llama2-7b h100 512 524288 1 8  8 1 1 16 1  1 | fp8 te fa2 | | tp dp | 635.2 603.164
llama2-7b h100 1024 1048576 1 4  8 1 1 32 1  1 | fp8 te fa2 | | tp dp | 317.4 307.749
)"},
    {"bridge", "", "Megatron-LM examples/llama/README.md", 50, R"(
llama-3.1-8b h100 8 8192 1 128  1 1 1 2 1  1 | fp8 te cudnn | | tp dp | 13812 14453.9
llama-3.1-70b h100 64 8192 1 128  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1621 1535.64
llama-3.1-405b h100 1024 8192 1 512  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 315 301.909
)"},
    {"bridge", "", "Megatron-Bridge docs/performance-summary-archive.md", 50, R"(
llama-3.1-405b gb300 256 8192 1 1536  4 8 4 1 1  1 | fp8 te cudnn | | tp dp | 1048 940.493
llama-3.1-405b gb300 256 8192 1 1536  2 8 4 2 1  1 | mxfp8 te cudnn | | tp dp | 952 958.441
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 843 828.13
llama-3.1-405b h100 1024 8192 1 1536  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 326 316.424
llama-3.1-70b gb200 32 4096 1 32  1 8 10 1 1  1 | mxfp8 te cudnn | | tp dp | 3593 3496.86
llama-3.1-70b h100 32 4096 1 32  4 4 5 1 1  1 | fp8 te cudnn | | tp dp | 1638 1617.44
llama-3.1-70b gb300 64 8192 1 256  1 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 4864 4752.86
llama-3.1-70b gb200 64 8192 2 256  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 4224 4354.17
llama-3.1-70b gb200 64 8192 1 256  2 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 3712 4027.48
llama-3.1-70b h100 64 8192 1 256  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1664 1556.09
llama-3.1-405b gb300 256 8192 1 1536  4 8 4 1 1  1 | fp8 te cudnn | | tp dp | 1024 940.493
llama-3.1-405b gb300 256 8192 1 1536  2 8 4 2 1  1 | mxfp8 te cudnn | | tp dp | 960 958.441
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 864 828.13
llama-3.1-405b h100 1024 8192 1 1536  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 328 316.424
llama-3.1-70b gb300 64 8192 1 256  1 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 4742 4752.86
llama-3.1-70b gb200 64 8192 1 256  2 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 3828 4027.48
llama-3.1-70b gb200 64 8192 2 256  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 4143 4354.17
llama-3.1-70b h100 64 8192 1 256  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1633 1556.09
llama-3.1-405b gb300 256 8192 1 1536  2 8 4 2 1  1 | mxfp8 te cudnn | | tp dp | 968 958.441
llama-3.1-405b gb300 256 8192 1 1536  4 8 4 1 1  1 | fp8 te cudnn | | tp dp | 1036 940.493
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 842 828.13
llama-3.1-70b gb200 64 8192 1 256  2 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 3837 4027.48
llama-3.1-70b gb200 64 8192 2 256  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 4357 4354.17
llama-3.1-70b h100 64 8192 1 256  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1639 1556.09
llama-3.1-405b gb300 256 8192 1 1536  2 8 4 2 1  1 | mxfp8 te cudnn | | tp dp | 949 958.441
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 818 828.13
llama-3.1-70b gb300 64 8192 1 256  1 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 4596 4752.86
llama-3.1-70b gb200 64 8192 1 256  2 4 5 1 1  1 | mxfp8 te cudnn | | tp dp | 3613 4027.48
llama-3.1-70b gb200 64 8192 2 256  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 4040 4354.17
llama-3.1-70b h100 64 8192 1 256  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1621 1556.09
llama-3.1-405b gb300 256 8192 1 1536  2 8 4 2 1  1 | mxfp8 te cudnn | | tp dp | 931 958.441
llama-3.1-405b gb300 256 8192 1 1536  4 8 4 1 1  1 | fp8 te cudnn | | tp dp | 988 940.493
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 793 828.13
llama-3.1-405b h100 1024 8192 1 1536  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 311 316.424
llama-3.1-8b gb300 8 8192 2 128  1 1 1 1 1  1 | fp8 te cudnn | | tp dp | 37556 37758.8
llama-3.1-70b gb200 64 8192 2 256  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 4312 4354.17
llama-3.1-405b gb200 256 8192 1 1536  4 16 4 1 1  1 | fp8 te cudnn | | tp dp | 813 828.13
llama-3.1-70b h100 64 8192 1 128  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1602 1535.64
llama-3.1-405b h100 1024 8192 1 512  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 292 301.909
llama-3.1-70b gb200 64 8192 2 128  1 1 1 1 1  3 | fp8 te cudnn | | tp dp | 3986 4320.26
llama-3.1-405b gb200 128 8192 1 64  2 1 1 1 1  3 | fp8 te cudnn | | tp dp | 729 736.857
llama-3.1-70b h100 64 8192 1 128  4 8 5 1 1  1 | fp8 te cudnn | | tp dp | 1619 1535.64
llama-3.1-405b h100 1024 8192 1 512  8 8 8 2 1  1 | fp8 te cudnn | | tp dp | 302 301.909
)"},
    {"bridge-moe", "", "Megatron-Bridge docs/performance-summary-archive.md", 50, R"(
deepseek-v3 gb300 256 4096 1 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp layer-graphs | 6304 4505.27
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp layer-graphs | 4928 4080.32
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp layer-graphs | 40960 33772.4
qwen3-235b-a22b gb300 256 4096 2 8192  1 4 12 1 32  1 | mxfp8 te cudnn deepep | | tp dp layer-graphs | 9008 6931.15
deepseek-v3 gb300 256 4096 1 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp layer-graphs | 6338 4505.27
deepseek-v3 gb300 256 4096 1 15360  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp layer-graphs | 6422 4602.05
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp layer-graphs | 4969 4080.32
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp layer-graphs | 40706 33772.4
qwen3-30b-a3b b300 8 4096 8 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp layer-graphs | 40769 31598.4
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | fp8 te cudnn deepep | | tp dp graphs | 8826 11182.5
qwen3-235b-a22b gb300 256 4096 2 8192  1 4 12 1 32  1 | mxfp8 te cudnn deepep | | tp dp layer-graphs | 9015 6931.15
deepseek-v3 gb300 256 4096 2 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4992 4568.82
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4256 3824.09
deepseek-v3 b200 256 4096 1 4096  1 8 2 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 3328 2201.87
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp graphs | 26112 30339.1
qwen3-30b-a3b b300 8 4096 8 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 30720 30009.6
qwen3-30b-a3b b200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 27136 26355.4
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | fp8 te cudnn deepep | | tp dp graphs | 8960 11182.5
qwen3-235b-a22b gb300 256 4096 2 8192  1 4 12 1 32  1 | mxfp8 te cudnn deepep | | tp dp graphs | 6944 6354.62
qwen3-235b-a22b b300 256 4096 2 8192  1 8 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 5936 5512.69
qwen3-235b-a22b h100 256 4096 1 8192  2 8 4 1 32  1 | fp8 te cudnn | | tp dp ep | 1712 1547.5
deepseek-v3 gb300 256 4096 2 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4965 4568.82
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4193 3824.09
deepseek-v3 b200 256 4096 1 4096  1 16 1 1 8  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 2815 2879.05
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp graphs | 26032 30339.1
qwen3-30b-a3b b300 8 4096 8 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 30553 30009.6
qwen3-30b-a3b b200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 26859 26355.4
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | fp8 te cudnn deepep | | tp dp graphs | 8901 11182.5
qwen3-235b-a22b gb300 256 4096 2 8192  1 4 12 1 32  1 | mxfp8 te cudnn deepep | | tp dp graphs | 6994 6354.62
qwen3-235b-a22b b300 256 4096 2 8192  1 8 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 4865 5512.69
qwen3-235b-a22b h100 256 4096 1 8192  2 8 4 1 32  1 | fp8 te cudnn | | tp dp ep | 1686 1547.5
deepseek-v3 gb300 256 4096 2 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4691 4568.82
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4021 3824.09
deepseek-v3 b200 256 4096 1 4096  1 16 1 1 8  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 2790 2879.05
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp graphs | 26373 30339.1
qwen3-30b-a3b b300 8 4096 8 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 29454 30009.6
qwen3-30b-a3b b200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 26695 26355.4
qwen3-235b-a22b h100 256 4096 1 8192  2 8 4 1 32  1 | fp8 te cudnn | | tp dp ep | 1611 1547.5
deepseek-v3 gb300 256 4096 2 4096  1 2 8 1 32  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 4612 4568.82
deepseek-v3 gb200 256 4096 1 4096  1 4 4 1 64  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 3955 3824.09
deepseek-v3 b200 256 4096 1 4096  1 16 1 1 8  1 | mxfp8 te cudnn deepep | mla_up mlp | tp dp graphs | 2689 2879.05
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp graphs | 26084 30339.1
qwen3-30b-a3b b300 8 4096 8 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 29521 30009.6
qwen3-30b-a3b b200 8 4096 1 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp graphs | 9691 18057.6
qwen3-235b-a22b h100 256 4096 1 8192  2 8 4 1 32  1 | fp8 te cudnn | | tp dp ep | 1633 1547.5
qwen3-235b-a22b gb300 256 4096 2 8192  1 4 12 1 16  1 | bf16 te cudnn deepep | | tp dp | 6131 5289.59
deepseek-v3-nomtp gb200 256 4096 1 4096  1 4 4 1 64  1 | bf16 te cudnn deepep | mla_up mlp | tp dp | 3139 3292.77
qwen3-30b-a3b gb200 8 4096 4 512  1 1 1 1 8  1 | mxfp8 te cudnn deepep | | tp dp | 23766 25212.8
qwen3-235b-a22b gb200 256 4096 1 8192  1 8 3 1 32  1 | bf16 te cudnn deepep | | tp dp | 4916 3781.88
qwen3-30b-a3b b200 8 4096 1 512  1 1 1 1 8  1 | mxfp8 te cudnn | | tp dp | 9299 7729.14
deepseek-v3 h100 1024 4096 1 8192  2 8 4 1 64  1 | fp8 te cudnn deepep | mla_up mlp | tp dp | 1297 1021.78
)"},
    {"gpt-oss", "", "Megatron-Bridge docs/performance-summary-archive.md", 50, R"(
gpt-oss-120b b300 64 4096 4 1280  1 1 1 1 8  1 | mxfp8 te cudnn | norm act | tp dp layer-graphs | 18534 21324.9
gpt-oss-120b gb300 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 19200 30668.8
gpt-oss-120b gb200 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 16640 28217.1
gpt-oss-120b b300 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 15232 19582.6
gpt-oss-120b b200 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 13568 18614.3
gpt-oss-120b gb300 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 19275 30668.8
gpt-oss-120b gb200 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 15938 28217.1
gpt-oss-120b b300 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 15114 19582.6
gpt-oss-120b b200 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 13045 18614.3
gpt-oss-120b gb300 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 19366 30668.8
gpt-oss-120b gb200 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 15754 28217.1
gpt-oss-120b b300 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 15031 19582.6
gpt-oss-120b b200 64 4096 4 1280  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp graphs | 13722 18614.3
gpt-oss-120b gb300 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 19412 30668.8
gpt-oss-120b gb200 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp graphs | 15784 28217.1
gpt-oss-120b b200 64 4096 4 1280  1 1 1 1 64  1 | bf16 te cudnn | norm act | tp dp graphs | 8047 8861.79
gpt-oss-120b gb200 64 8192 1 1280  1 1 1 1 64  1 | bf16 te cudnn deepep | norm act | tp dp | 15876 18293.9
gpt-oss-120b b200 64 4096 4 512  1 1 1 1 8  1 | bf16 te cudnn | norm act | tp dp | 8213 12207.5
gpt-oss-120b h100 64 4096 4 512  1 4 1 1 8  1 | bf16 te cudnn | norm act | tp dp | 5630 6956.64
)"},
    {"qwen235", "qwen235-h800", "InternLM/xtuner docs/en/benchmark/megatron_moe_benchmark.md; Pai-Megatron-Patch issue 658", 50, R"(
qwen3-235b-a22b h800 256 4096 1 2048  2 32 3 1 8  1 | bf16 te cudnn | norm act | | 1461.56 1387.23
qwen3-235b-a22b h800 256 4096 1 2048  2 8 4 1 32  1 | bf16 te cudnn | norm act | | 925.87 926.113
qwen3-235b-a22b h800 256 4096 1 2048  2 8 4 1 32  1 | bf16 te cudnn deepep | norm act | | 1273.54 1359.9
qwen3-235b-a22b h800 256 4096 1 2048  2 8 1 1 8  1 | bf16 te cudnn | norm act | dp tp | 1119.26 1359.66
qwen3-235b-a22b h800 256 4096 4 4096  2 32 3 1 8  1 | bf16 te cudnn | full | | 1506.76 1269.06
qwen3-235b-a22b h800 256 4096 1 2048  1 32 3 1 8  1 | bf16 te cudnn | norm moe | | 1428.04 1339.13
qwen3-235b-a22b h800 256 4096 4 4096  1 32 3 1 8  1 | bf16 te cudnn | full | | 1540.68 1346.07
qwen3-235b-a22b h800 256 4096 8 8192  1 32 3 1 8  1 | bf16 te cudnn | full | | 1520.8 1387.28
)"},
    {"qwen235", "qwen235-h100", "Megatron-MoE-ModelZoo best_practice/qwen3/readme.md", 50, R"(
qwen3-235b-a22b h100 256 4096 1 2048  2 8 4 1 32  1 | bf16 te cudnn deepep | norm act | ep | 1861.82 1811.67
qwen3-235b-a22b h100 256 4096 1 2048  4 8 4 1 8  1 | bf16 te cudnn deepep | |  | 1129.93 943.339
)"},
    {"automodel", "", "NVIDIA-NeMo/Automodel docs/performance-summary.md", 50, R"(
deepseek-v3-nomtp h100 256 4096 1 512  1 4 8 1 64  2 | bf16 te cudnn deepep | |  | 1002 1030.79
gpt-oss-20b h100 8 4096 2 256  1 1 1 1 8  3 | bf16 te fa2 deepep | |  | 13058 14804.9
)"},
    {"qwen30", "qwen30-16", "Megatron-Bridge skills/nemo-mbridge-perf", 50, R"(
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | bf16 te cudnn deepep | | graphs | 10607.2 10584.2
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | bf16 te cudnn deepep | | graphs ep | 12487.8 13013.9
qwen3-30b-a3b h100 16 4096 1 1024  1 1 1 1 16  1 | bf16 te cudnn deepep | | graphs ep | 13011.4 13013.9
)"},
    {"moonlight", "moonlight", "Megatron-Bridge skills/nemo-mbridge-perf", 50, R"(
moonlight-16b h100 8 4096 1 4  2 1 1 1 8  1 | bf16 te cudnn | mla_up mlp | | 4123 4114.6
moonlight-16b h100 8 4096 1 4  2 1 1 1 8  1 | bf16 te cudnn | act | | 4392.4 4116.74
moonlight-16b h100 8 4096 1 4  2 1 1 1 8  1 | bf16 te cudnn | norm act | | 4043.2 4110.32
)"},
    {"korthikanti", "korthikanti", "Korthikanti et al., arXiv 2205.05198, table 5", 25, R"(
kor-22b a100 8 2048 4 4  8 1 1 1 1  1 | bf16 te unfused | core_attn | | 930.91 936.703
gpt3-175b-2205 a100 64 2048 1 64  8 8 3 1 1  1 | bf16 te unfused | full | | 112.96 119.248
kor-1t a100 512 2048 1 512  8 64 1 1 1  1 | bf16 te unfused | full | | 21.69 21.7529
kor-1t a100 512 2048 1 512  8 64 1 1 1  1 | bf16 te unfused | core_attn | | 28.65 28.1378
)"},
};

/// The rows, in the order of the tables.
[[nodiscard]] inline std::vector<timed_run> published_times() {
  auto const next = [](std::string_view& text, char end) {
    auto const at = (std::min)(text.find(end), text.size());
    auto part = text.substr(0, at);
    text.remove_prefix((std::min)(at + 1, text.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  std::vector<timed_run> out;
  for (auto const& group : published_time_tables)
    for (auto text = group.table; !text.empty();) {
      auto line = next(text, '\n');
      if (line.empty()) continue;
      timed_run row{};
      row.group = &group;
      auto shape = next(line, '|');
      row.model = next(shape, ' ');
      row.device = next(shape, ' ');
      std::istringstream numbers{std::string(shape)};
      numbers >> row.gpus >> row.sequence >> row.micro_batch >> row.global_batch >> row.tensor >> row.stages >> row.chunks >> row.context >>
          row.expert >> row.zero;
      row.kernels = next(line, '|');
      row.recompute = next(line, '|');
      row.flags = next(line, '|');
      std::istringstream results{std::string(line)};
      results >> row.measured >> row.reference;
      ballast::require(!numbers.fail() && !results.fail() && numbers.eof() && results.eof(),
                       [&] { return "a row of " + std::string(row.model) + " has other columns than the table"; });
      out.push_back(row);
    }
  return out;
}

}  // namespace ballast_test
