// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_writers.hpp"
#include "errors.hpp"
#include "readers/framework_setting.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "program.hpp"
#include "settings.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test_cli_setting_writers {

namespace {

using namespace ballast_cli;
using ballast::trained;
using ballast::transformer_preset;

bool on_core(framework_format const& format) {
  for (auto const* const word : {"megatron", "megatron-swift", "bridge", "nemo"})
    if (format.word == word) return true;
  return false;
}
bool on_trainer(framework_format const& format) { return !on_core(format) && format.word != "torchtitan" && format.word != "deepspeed"; }

/// A setting as files of the framework have it, and often as they have it not.
imported_setting drawn(framework_format const& format, std::uint64_t seed, training_task task) {
  imported_setting of;
  of.model = transformer_preset("llama-3.1-8b");
  of.task = task;
  auto& by = of.setting;
  auto& m = by.model;
  if (on_trainer(format)) {
    begin_eager(of);
    if (format.word == "litgpt" && task == training_task::pretraining) of.time.rates.family = ballast::kernel_family::compiled;
    by = ballast_test::drawn_trainer_setting(seed);
    if (m.language.what != trained::low_rank) m.language = {};
    if (format.word == "swift" && m.loss.how == ballast::head_loss::kind::returned) m.loss = {};
  } else {
    by = ballast_test::drawn_core_setting(seed, of.model);
    m.framework = ballast::framework_named(on_core(format) ? "megatron" : "eager");
    if (on_core(format)) m.kernels = ballast_test::drawn_core_kernels(seed, by);
    if (format.word == "torchtitan") {
      m.kernels.stream_pools = true;
      m.loss.how = m.spread.tensor > 1 ? ballast::head_loss::kind::parallel : ballast::head_loss::kind::plain;
      m.optimizer = ballast::optimizer_named(seed % 3 == 0 ? "adam-bf16" : "adam-fp32");
    }
  }
  using enum training_task;
  auto const pairs = task == dpo || task == orpo || task == simpo || task == cpo || task == reward;
  if (pairs && seed % 4 != 0) by.micro_batch *= 2;
  if (task == dpo || task == kto || (task == grpo && seed % 2 == 0)) add_reference(of);
  return of;
}

imported_setting read_again(framework_format const& format, std::string const& text, imported_setting const& of) {
  setting_request asked{};
  asked.model = of.model;
  asked.gpus = of.setting.gpus();
  asked.framework = format.word;
  if (format.word == "deepspeed" || format.word == "accelerate") asked.sequence = of.setting.sequence;
  if (format.word == "accelerate") {
    asked.micro_batch = of.setting.micro_batch;
    asked.micro_batches = of.setting.micro_batches;
  }
  auto const* const name = text.starts_with('{')           ? "a.json"
                           : format.word == "torchtitan"   ? "a.toml"
                           : text.find(" --") == text.npos ? "a.yaml"
                                                           : "a.sh";
  return read_framework_setting(text, name, asked);
}

/// Whether a remark names what no file of the framework has.
bool always(std::string const& lost) {
  return lost.find("which the program is told") != lost.npos || lost.starts_with("how much of a sequence") ||
         lost.starts_with("the cut, which") || lost.starts_with("hidden exchanges of gradients");
}
bool is_named(std::vector<std::string> const& lost, std::string_view label) {
  return std::any_of(lost.begin(), lost.end(), [&](auto const& line) { return line.find(label) != line.npos; });
}
std::int64_t most_bytes(imported_setting const& of) {
  auto by = of.setting;
  by.pipeline.memory = std::int64_t{1} << 50;
  std::int64_t most = 0;
  for (auto const& m : judge_setting(of.model, by, {}).memory) most = (std::max)(most, m.bytes());
  return most;
}
std::vector<std::string> roles_of(imported_setting const& of) {
  std::vector<std::string> out;
  for (auto const& role : of.roles) out.push_back(role.role);
  return out;
}

}  // namespace

TEST_CASE("setting_writers: what is written without a remark is read as the same setting, for each kind of training") {
  for (auto const* const format : framework_formats()) {
    if (format->write == nullptr) continue;
    std::vector<training_task> tasks;
    for (auto const& words : format->tasks)
      if (std::find(tasks.begin(), tasks.end(), words.task) == tasks.end()) tasks.push_back(words.task);
    if (tasks.empty()) tasks.push_back(training_task::finetuning);
    for (auto const task : tasks) {
      if (format->write_roles != nullptr && task != training_task::finetuning) continue;  // rl_writers draws those with their models
      auto same = 0;
      for (std::uint64_t seed = 0; seed < 1000 && same < 16; ++seed) {
        auto const of = drawn(*format, seed, task);
        auto const written = write_setting(*format, of);
        CAPTURE(format->word, in_words(task), seed, written.text);
        if (!std::all_of(written.not_said.begin(), written.not_said.end(), always)) continue;
        auto back = read_again(*format, written.text, of);
        CHECK((back.task == task || back.task == training_task::unsaid));
        CHECK(roles_of(back) == roles_of(of));
        CHECK(back.passed.doubtful == std::vector<std::string>{});
        CHECK(back.passed.unknown == std::vector<std::string>{});
        CHECK(back.unread == std::vector<std::string>{});
        auto by = of.setting;
        back.setting.boundaries = boundaries_of(back.setting, of.model);
        by.boundaries = is_named(written.not_said, "the cut, which") ? back.setting.boundaries : boundaries_of(by, of.model);
        // what adapters are held in without adapters, and the rank of a projection that nothing has
        if (by.model.language.what != trained::low_rank) back.setting.model.kernels.adapter_value = by.model.kernels.adapter_value;
        back.setting.model.kernels.stream_pools = by.model.kernels.stream_pools;
        back.setting.model.kernels.kept_copies = by.model.kernels.kept_copies;
        back.setting.model.kernels.local_gradient = by.model.kernels.local_gradient;
        back.setting.model.optimizer.rank = by.model.optimizer.rank;
        auto const of_answers = task == training_task::grpo || task == training_task::rloo;  // logits of answers alone
        CHECK((back.setting.model.loss.share == by.model.loss.share || of_answers));
        auto& share = back.setting.model.loss.share;
        by.model.loss.share = share;
        CHECK(back.setting == by);
        if (++same % 8 != 0 || is_named(written.not_said, "the cut, which")) continue;
        CHECK((back.model.outputs == 1) == (task == training_task::reward && format->word != "llamafactory"));
        auto same_head = of;
        same_head.model.outputs = back.model.outputs;
        same_head.setting.model.loss.share = share;
        CHECK(most_bytes(back) == most_bytes(same_head));
      }
      CAPTURE(format->word, in_words(task));
      auto const own = format->word == "verl" || format->word == "openrlhf" || format->word == "nemo-rl";  // tests of their own draw more
      CHECK(same >= (own || task == training_task::ppo || task == training_task::distillation ? 0 : 2));
    }
  }
}

TEST_CASE("setting_writers: from one framework to another, what changes is named in the file") {
  for (auto const* const from : framework_formats())
    for (auto const* const to : framework_formats()) {
      if (from->write == nullptr || to->write == nullptr) continue;
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        auto const task = from->tasks.empty() ? training_task::finetuning : from->tasks[seed % from->tasks.size()].task;
        auto const start = drawn(*from, seed, task);
        CAPTURE(from->word, to->word, seed);
        imported_setting of, back;
        written_setting written;
        try {
          of = read_again(*from, write_setting(*from, start).text, start);
          auto const space = space_of(*to, of);
          written = write_best(*to, of, space, {&space.of.setting, 1});
          back = read_again(*to, written.text, of);
        } catch (bad_input const& e) {  // a setting that cannot be read is named as that, and a kind that the format lacks is refused
          auto const sentence = std::string(e.what());
          CAPTURE(sentence);
          CHECK((sentence.find(" have no training") != sentence.npos || sentence.find(" have no distillation") != sentence.npos ||
                 sentence.find(" would be ") != sentence.npos || is_named(written.not_said, "cannot be read") || of.framework.empty()));
          continue;
        }
        auto const& lost = written.not_said;
        CAPTURE(written.text);
        auto const &a = of.setting, &b = back.setting;
        auto const &m = a.model, &n = b.model;
        auto const keeps = [&](bool equal, std::string_view label) {
          CAPTURE(label);
          CHECK((equal || is_named(lost, label)));
        };
        keeps(of.task == back.task || of.task == training_task::unsaid || back.task == training_task::unsaid, "the kind of training");
        keeps(roles_of(of) == roles_of(back), "other models beside it");
        keeps(m.spread.tensor == n.spread.tensor, "tensor parallelism");
        keeps(m.spread.context == n.spread.context, "context parallelism");
        keeps(a.pipeline.stages == b.pipeline.stages, "pipeline");
        keeps(m.spread.zero == n.spread.zero, "ZeRO");
        keeps(a.micro_batch == b.micro_batch, "micro-batch");
        keeps(a.sequence == b.sequence, "sequence");
        auto const whole = b.recompute.what == ballast::recompute_setting::kind::uniform;  // tried in place of what the format cannot say
        keeps(a.recompute == b.recompute || whole, "recompute");
        keeps(m.optimizer.name == n.optimizer.name && m.optimizer.state == n.optimizer.state, "optimizer");
        keeps(m.moved == n.moved, "offload");
        keeps(m.language == n.language || m.language.what == trained::all, "train");
        keeps(m.loss == n.loss, "head loss");
        keeps(m.attention == n.attention, "attention");
        keeps(m.kernels.fp8 == n.kernels.fp8 || m.framework != n.framework, "8 bits");
        keeps(most_bytes(of) == most_bytes(back) || a.recompute != b.recompute, "memory of");
        if (!written.text.starts_with('{'))  // JSON has no comments
          for (auto const& line : lost)
            CHECK(written.text.find("# Not said by " + std::string(to->name) + ": " + line + ".\n") != std::string::npos);
      }
    }
}

TEST_CASE("setting_writers: a kind of training that the format lacks, and formats that are only read, are refused") {
  auto const refused = [](char const* word, training_task task) {
    auto const& trl = framework_named("--write", "trl");
    try {
      (void)write_setting(framework_named("--write", word), drawn(trl, 1, task));
    } catch (bad_input const& e) {
      return std::string(e.what());
    }
    return std::string("written");
  };
  CHECK(
      refused("torchtitan", training_task::dpo).starts_with("--write torchtitan: files of torchtitan have no training by DPO; those of "));
  CHECK(refused("torchtitan", training_task::dpo).find(", trl") != std::string::npos);
  CHECK(refused("litgpt", training_task::grpo).starts_with("--write litgpt: files of litgpt have no training by GRPO"));
  CHECK(refused("bridge", training_task::other) == "--write bridge: files of Megatron-Bridge have no training of another kind");
  CHECK(refused("torchtitan", training_task::finetuning) == "written");
  auto const only_read = refused("transformers", training_task::finetuning);
  CHECK(only_read.starts_with("--write transformers: settings of Transformers are read, but not written; written are megatron, "));
  CHECK(only_read.find("transformers", 14 + 12) == std::string::npos);
}

TEST_CASE("setting_writers: --write prints a file of the same kind of training, with --json in a field") {
  ballast_test::scratch const folder;
  folder.file(
      "dpo.yaml",
      "model_name_or_path: meta-llama/Llama-3.2-1B\nstage: dpo\ndo_train: true\nfinetuning_type: lora\nlora_rank: 16\n"
      "lora_target: all\ndataset: a\ncutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 4\nbf16: true\n");
  auto const written = folder.ballast("check dpo.yaml --gpus 4 --write trl");
  CHECK(written.code == 0);
  CHECK(written.out.find("trl dpo") != std::string::npos);
  CHECK(written.out.find("--lora_r 16") != std::string::npos);
  folder.file("dpo.sh", written.out);
  auto const again = folder.ballast("check dpo.sh --model llama-3.2-1b --json");
  CHECK(again.code == 0);
  auto const read = nlohmann::json::parse(again.out);
  CHECK((read["framework"] == "TRL" && read["gpus"] == 4 && read["global_batch"] == 32 && read["sequence"] == 2048));
  auto const json = folder.ballast("check dpo.yaml --gpus 4 --write trl --json");
  CHECK(json.code == 0);
  auto const object = nlohmann::json::parse(json.out);
  CHECK((object["written"]["framework"] == "TRL" && object["written"]["text"] == written.out));
  CHECK(object["written"]["not_said"].size() == static_cast<std::size_t>(std::count(written.err.begin(), written.err.end(), '\n')));
  CHECK(object["framework"] == "LLaMA-Factory");
  CHECK(!nlohmann::json::parse(folder.ballast("check dpo.yaml --gpus 4 --json").out).contains("written"));
  auto const refused = folder.ballast("check dpo.yaml --gpus 4 --write nemo");
  CHECK((refused.code == 2 && refused.out.empty()));
  CHECK(refused.err.find("--write nemo: files of NeMo have no training by DPO; those of megatron-swift, swift, ") != std::string::npos);
  auto const only_read = folder.ballast("check dpo.yaml --gpus 4 --write transformers");
  CHECK((only_read.code == 2 && only_read.err.find("are read, but not written; written are megatron, ") != std::string::npos));
}

}  // namespace test_cli_setting_writers
