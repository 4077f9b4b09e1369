// SPDX-License-Identifier: Apache-2.0
#include "readers/megatron_stages.hpp"

#include "errors.hpp"
#include "readers/megatron_pattern.hpp"

#include <ballast/core/error.hpp>
#include <ballast/plan/judge_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// NVIDIA/Megatron-LM d98e8a64: get_num_layers_to_build and PipelineParallelLayerLayout.

namespace ballast_cli {

namespace {

class stage_reader {
 public:
  stage_reader(setting_table& in, imported_setting& out) : in_(in), out_(out) {}

  void read() {
    auto& by = out_.setting;
    auto const stages = static_cast<std::int64_t>(by.pipeline.stages), layers = out_.model.layers;
    auto const ways = std::initializer_list<char const*>{"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank",
                                                         "virtual_pipeline_model_parallel_size", "pipeline_model_parallel_layout"};
    auto const layout = in_.word("pipeline_model_parallel_layout");
    auto const bars = parts_of_pattern(in_);
    auto const of_chunk = in_.number("num_layers_per_virtual_pipeline_stage"), of_rank = in_.number("num_virtual_stages_per_pipeline_rank"),
               of_rank_too = in_.number("virtual_pipeline_model_parallel_size");
    auto const given = (of_chunk ? 1 : 0) + (of_rank || of_rank_too ? 1 : 0) + (layout.empty() ? 0 : 1);
    if (given > 0 && !bars.empty())
      in_.refuse("hybrid_layer_pattern", "has bars, which say the chunks of stages; Megatron-LM takes one way");
    if (given > 1)
      for (auto const* const key : ways)
        if (in_.has(key)) in_.refuse(key, "is one of several ways to say the chunks of a stage; Megatron-LM takes one");
    auto chunks = of_rank ? *of_rank : of_rank_too.value_or(1);
    auto const first = in_.number("decoder_first_pipeline_num_layers", 0), last = in_.number("decoder_last_pipeline_num_layers", 0);
    auto const e = in_.flag("account_for_embedding_in_pipeline_split") ? 1 : 0, l = in_.flag("account_for_loss_in_pipeline_split") ? 1 : 0;
    if (!layout.empty() || !bars.empty()) {
      auto const* const key = layout.empty() ? "hybrid_layer_pattern" : "pipeline_model_parallel_layout";
      auto const numbers = layout.empty() ? bars : layers_of_layout(layout);
      if (static_cast<std::int64_t>(numbers.size()) % stages != 0)
        in_.refuse(key,
                   "has " + std::to_string(numbers.size()) + " parts, which are no multiple of the " + std::to_string(stages) + " stages");
      chunks = static_cast<std::int64_t>(numbers.size()) / stages;
      cut(numbers, key);
    } else {
      std::vector<std::int64_t> of_stage(static_cast<std::size_t>(stages));
      if ((first || last) && e + l > 0)
        in_.refuse(e > 0 ? "account_for_embedding_in_pipeline_split" : "account_for_loss_in_pipeline_split",
                   "is not allowed by Megatron-LM where the layers of the first or last stage are given");
      auto const ends = first.value_or(0) + last.value_or(0), inner = stages - (first ? 1 : 0) - (last ? 1 : 0);
      auto const rest = layers - ends + e + l;  // the embedding and the loss take the place of a layer each
      if (inner < 0 || rest < 0 || (inner == 0 ? rest != 0 : rest % inner != 0))
        throw bad_input(in_.file() + ": num_layers = " + std::to_string(layers) + " cannot be split evenly over " + std::to_string(stages) +
                        " stages; pipeline_model_parallel_layout or decoder_first_pipeline_num_layers says how else");
      for (auto& n : of_stage) n = inner == 0 ? 0 : rest / inner;
      if (first) of_stage.front() = *first;
      if (last) of_stage.back() = *last;
      if (of_chunk) {
        auto const of_rank_alone = (layers + e + l) / stages;
        if (of_rank_alone % *of_chunk != 0) in_.refuse("num_layers_per_virtual_pipeline_stage", "must divide the layers of a stage");
        chunks = of_rank_alone / *of_chunk;
      }
      if (chunks > layers) throw bad_input(in_.file() + ": a stage has more chunks than the model has layers");
      std::vector<std::int64_t> numbers;
      for (std::int64_t c = 0; c < chunks; ++c)
        for (auto const n : of_stage) {
          if (n % chunks != 0)
            throw bad_input(in_.file() + ": the " + std::to_string(n) + " layers of a stage cannot be split into " +
                            std::to_string(chunks) + " chunks");
          numbers.push_back(n / chunks);
        }
      numbers.front() -= e;
      numbers.back() -= l;
      if (numbers.front() < 0 || numbers.back() < 0)
        throw bad_input(in_.file() + ": the first or the last chunk has no layer whose place the embedding or the loss could take");
      cut(numbers, "num_layers");
    }
    if (chunks > 1 && stages == 1)
      in_.refuse(!bars.empty()    ? "hybrid_layer_pattern"
                 : layout.empty() ? "num_layers_per_virtual_pipeline_stage"
                                  : ways.end()[-1],
                 "needs several stages");
    if (chunks > 1) by.pipeline.schedule = ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(chunks)};
    if (in_.flag("delay_wgrad_compute"))
      out_.notes.emplace_back("delay_wgrad_compute is not modelled: the memory is too low, the time too long");
    auto const most = in_.number_or("wgrad_deferral_limit", 0, 0);
    if (in_.flag("defer_embedding_wgrad_compute")) {  // 0: all micro-batches but one, which the model of memory takes as the most
      if (by.pipeline.stages == 1 || !by.model.kernels.dummy_gradients)
        in_.refuse("defer_embedding_wgrad_compute", "needs a pipeline of several stages, and gradient_accumulation_fusion");
      by.model.kernels.deferred = most == 0 ? 1 << 20 : most;
      out_.notes.emplace_back("defer_embedding_wgrad_compute is counted in the memory; the time is too long");
    }
    if (in_.flag("mtp_use_repeated_layer"))
      out_.notes.emplace_back("mtp_use_repeated_layer is not modelled: time and memory are judged without it");
  }

 private:
  void cut(std::vector<std::int64_t> const& numbers, char const* key) {
    try {
      out_.setting.boundaries = ballast::cut_by_layers(out_.model, numbers);
    } catch (ballast::invalid_input const& e) {
      in_.refuse(key, "does not suit the model: " + std::string(e.what()));
    }
  }
  /// The numbers of layers that a layout gives its parts: letters, `x*n`, `(..)*n`, commas.
  [[nodiscard]] std::vector<std::int64_t> layers_of_layout(std::string const& text) const {
    auto const fail = [&](std::string const& why) { in_.refuse("pipeline_model_parallel_layout", why); };
    std::string flat;
    std::size_t last = 0, group = std::string::npos;  // where the piece that a factor repeats begins
    for (std::size_t i = 0; i < text.size(); ++i) {
      auto const c = text[i];
      if (c == ',' || c == ' ') continue;
      if (c == '(') {
        if (group != std::string::npos) fail("has brackets inside brackets");
        group = flat.size();
      } else if (c == ')') {
        if (group == std::string::npos) fail("closes a bracket that is not open");
        last = std::exchange(group, std::string::npos);
      } else if (c == '*') {
        std::size_t times = 0, digits = 0;
        for (; i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9' && digits < 5; ++digits)
          times = 10 * times + static_cast<std::size_t>(text[++i] - '0');
        auto const piece = flat.substr(last);
        if (digits == 0 || times == 0 || piece.empty() || times * piece.size() > 1 << 16)
          fail("has a factor that repeats nothing, or too much");
        for (std::size_t k = 1; k < times; ++k) flat += piece;
      } else if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') {
        last = flat.size();
        flat += c;
      } else {
        fail("has a letter other than E, t, m, L");
      }
    }
    if (group != std::string::npos) fail("has a bracket that is not closed");
    auto const count = [&](char c) { return std::count(flat.begin(), flat.end(), c); };
    if (count('L') > 1) fail("has several losses (L), and Megatron-LM trains with one");
    if (!flat.starts_with("E") || count('E') != 1 || !flat.ends_with("L") || count('L') != 1)
      fail("must begin with its one E and end with its one L");
    std::vector<std::int64_t> numbers{0};
    for (auto const c : flat)
      if (c == '|')
        numbers.push_back(0);
      else if (c == 't')
        ++numbers.back();
    return numbers;
  }

  setting_table& in_;
  imported_setting& out_;
};

}  // namespace

void read_megatron_stages(setting_table& in, imported_setting& out) { stage_reader(in, out).read(); }

}  // namespace ballast_cli
