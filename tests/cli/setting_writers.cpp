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
#include "support/rounds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
bool says_packing(framework_format const& format) {
  for (auto const* const word : {"swift", "megatron-swift", "llamafactory", "axolotl", "trl", "torchtune", "automodel"})
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
    of.time.rates.fp8 = m.kernels.fp8;
    if (on_core(format)) ballast_test::draw_core_details(seed, of);
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
  if (seed % 3 == 0) return of;
  auto& d = of.details;
  d.learning_rate = seed % 2 == 0 ? "2.0e-5" : "0.0001";
  if (seed % 5 < 2) d.packing = seed % 5 == 0;
  if (task != grpo) return of;
  d.answer = 1 + static_cast<std::int64_t>(seed * 37) % (by.sequence - 1);
  d.prompt = by.sequence - d.answer;
  d.answers = std::int64_t{2} << seed % 3;
  d.drawn = d.answers * by.global_batch();
  d.penalty = of.roles.empty() ? "0" : "0.003";
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
         lost.starts_with("the cut, which") || lost.starts_with("packing of samples") || lost.starts_with("learning rate");
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
/// Whether the details of the second are those of the first, as far as it says them, or are named.
bool keeps_details(imported_setting const& of, imported_setting const& back, std::vector<std::string> const& lost) {
  auto const &a = of.details, &b = back.details;
  auto const number = [&](std::int64_t x, std::int64_t y, std::string_view label) { return x == 0 || x == y || is_named(lost, label); };
  auto const decimal = [&](std::string const& x, std::string const& y, std::string_view label) {
    return x.empty() || (!y.empty() && std::stod(x) == std::stod(y)) || is_named(lost, label);
  };
  return decimal(a.learning_rate, b.learning_rate, "learning rate") && decimal(a.penalty, b.penalty, "coefficient of the divergence") &&
         (!a.packing || a.packing == b.packing || is_named(lost, "packing of samples")) &&
         number(a.prompt, b.prompt, "tokens of a prompt") && number(a.answer, b.answer, "tokens of an answer") &&
         number(a.answers, b.answers, "answers to a prompt") && number(a.drawn, b.drawn, "sequences drawn at once");
}
std::vector<std::string> roles_of(imported_setting const& of, bool resident = false) {
  std::vector<std::string> out;
  for (auto const& role : of.roles)
    if (role.resident || !resident) out.push_back(role.role);
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
      auto const draws = format->word == "verl" || format->word == "openrlhf" || format->word == "nemo-rl";
      if (draws && task != training_task::finetuning) continue;  // rl_writers draws those with their models
      auto same = 0;
      for (std::uint64_t seed = 0; seed < 1000 && same < (ballast_test::sanitized ? 2 : 16); ++seed) {
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
        CHECK(keeps_details(of, back, written.not_said));
        auto const& d = of.details;
        CHECK((format->word == "accelerate" || d.learning_rate.empty() || !is_named(written.not_said, "learning rate")));
        auto const plain = task == training_task::finetuning && d.packing && says_packing(*format);
        CHECK((!plain || back.details.packing == d.packing));
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
        auto const &time = of.time, &again = back.time;
        CHECK((again.dispatcher == time.dispatcher && again.graphs == time.graphs && again.gradient_overlap == time.gradient_overlap));
        if (on_core(*format))
          CHECK(std::includes(back.details.core.begin(), back.details.core.end(), of.details.core.begin(), of.details.core.end()));
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
      for (std::uint64_t seed = 0; seed < (ballast_test::sanitized ? 1 : 3); ++seed) {
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
        keeps(roles_of(of, true) == roles_of(back, true), "other models beside it");
        CHECK(keeps_details(of, back, lost));
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
        auto loss = m.loss;
        if (draws_answers(of.task)) loss.share = n.loss.share;  // whose logits of prompts a framework computes is its own
        keeps(loss == n.loss, "head loss");
        keeps(m.attention == n.attention, "attention");
        keeps(of.time.dispatcher == back.time.dispatcher || m.framework != n.framework, "tokens sent once");
        keeps(of.time.gradient_overlap == back.time.gradient_overlap || m.framework != n.framework, "hidden exchanges of gradients");
        keeps(of.time.graphs == back.time.graphs || m.framework != n.framework, "CUDA graphs");
        keeps(
            of.details.core == back.details.core || m.framework == n.framework || is_named(lost, "engine that") || is_named(lost, "16-bit"),
            "keys of Megatron-Core");
        keeps(m.kernels.fp8 == n.kernels.fp8 || m.framework != n.framework, "8 bits");
        keeps(most_bytes(of) == most_bytes(back) || a.recompute != b.recompute, "memory of");
        if (!written.text.starts_with('{'))  // JSON has no comments
          for (auto const& line : lost)
            CHECK(written.text.find("# Not said by " + std::string(to->name) + ": " + line + ".\n") != std::string::npos);
      }
    }
}

TEST_CASE("setting_writers: learning rate, packing, float32 and dropout are the file's own") {
  auto const has = [](written_setting const& written, std::string_view part) { return written.text.find(part) != written.text.npos; };
  auto const to = [](char const* word) -> framework_format const& { return framework_named("--write", word); };
  setting_request asked{.model = transformer_preset("llama-3.2-1b"), .gpus = 8};
  auto const read = [&](std::string const& rest) {
    return read_framework_setting("trl sft --model_name_or_path a/b --dataset_name d --max_length 1024 " + rest, "a.sh", asked);
  };
  auto const of = read("--bf16 true --learning_rate 3e-6 --packing false");
  CHECK(of.details.learning_rate == "3.0e-6");
  for (auto const* const word : {"swift", "llamafactory", "axolotl", "trl", "torchtune", "automodel"}) {
    auto const written = write_setting(to(word), of);
    CAPTURE(word, written.text);
    CHECK((has(written, "3.0e-6") && !is_named(written.not_said, "learning rate") && !is_named(written.not_said, "packing")));
    CHECK((has(written, word == std::string("automodel") ? "packed_sequence_size: 0" : "false")));
    auto const packed = read_again(to(word), write_setting(to(word), read("--bf16 true --packing true")).text, of);
    CHECK(packed.details.packing == true);
  }
  auto const unsaid = read("--bf16 true");  // a file that needs a rate has an example
  CHECK((has(write_setting(to("axolotl"), unsaid), "learning_rate: 1.0e-5  # an example") &&
         has(write_setting(to("automodel"), unsaid), "lr: 1.0e-5  # an example") &&
         !has(write_setting(to("swift"), unsaid), "learning_rate")));
  auto const floats = read("--bf16 false --dtype float32");
  REQUIRE(floats.setting.model.kernels.value == 4);
  for (auto const& [word, said] : {std::pair{"swift", "--torch_dtype float32"}, {"axolotl", "bf16: false"}}) {
    auto const written = write_setting(to(word), floats);
    CAPTURE(written.text);
    CHECK((has(written, said) && !is_named(written.not_said, "float32")));
    CHECK(read_again(to(word), written.text, floats).setting.model.kernels.value == 4);
  }
  for (auto const* const word : {"megatron", "bridge", "nemo"}) {  // Megatron-LM's default is 0.1
    auto const space = space_of(to(word), of);
    auto const written = write_best(to(word), of, space, {&space.of.setting, 1});
    CAPTURE(written.text);
    CHECK((has(written, "0.0") && !has(written, "0.1")));
    auto const& kernels = read_again(to(word), written.text, of).setting.model.kernels;
    CHECK((!kernels.hidden_dropout && !kernels.attention_dropout));
  }
  for (auto const& [word, number] : {std::pair{"1e-5", "1.0e-5"},
                                     {"2E5", "2.0e+5"},
                                     {".5", "0.5"},
                                     {"7.", "7.0"},
                                     {"1.5e-06", "1.5e-06"},
                                     {"3", "3"},
                                     {"auto", ""},
                                     {"1e", ""},
                                     {"-1", ""},
                                     {"1.2.3", ""},
                                     {"e-5", ""},
                                     {"1e-400", ""},
                                     {"1e999", ""}})
    CHECK(decimal_word(std::string_view(word)) == number);
}

TEST_CASE("setting_writers: recipes of DPO of torchtune read no degrees") {
  auto const& torchtune = framework_named("--write", "torchtune");
  imported_setting of;
  of.model = transformer_preset("llama-3.1-8b");
  of.task = training_task::dpo;
  begin_eager(of);
  auto& by = of.setting;
  by.model.spread = {.tensor = 1, .context = 2, .data = 8, .zero = 3};
  by.model.optimizer = ballast::optimizer_named("adam-bf16");
  by.sequence = 2048;
  by.micro_batch = 2;
  add_reference(of);
  auto const written = write_setting(torchtune, of);
  CHECK(written.text.find("parallel_dim") == written.text.npos);
  CHECK(is_named(written.not_said, "context parallelism 2, in the file 1"));
  auto const again = read_again(torchtune, written.text + "context_parallel_dim: 2\ntensor_parallel_dim: 2\n", of).setting.model.spread;
  CHECK((again.context == 1 && again.tensor == 1 && again.data == 8));
  of.task = training_task::finetuning;
  of.roles.clear();
  CHECK(write_setting(torchtune, of).text.find("context_parallel_dim: 2") != written.text.npos);
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

TEST_CASE("setting_writers: a setting from standard input is written as from a file") {
  ballast_test::scratch const in;
  in.file(
      "run.sh",
      "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --ffn-hidden-size 1024 --num-attention-heads 8 --swiglu --seq-length 2048 "
      "--micro-batch-size 1 --global-batch-size 16 --vocab-size 32000 --bf16 --normalization RMSNorm --position-embedding-type rope\n");
  auto const written = in.ballast("check run.sh --gpus 4 --write torchtitan");
  REQUIRE(written.code == 0);
  CHECK(in.ballast("check - --gpus 4 --write torchtitan <run.sh").out == written.out);
}

}  // namespace test_cli_setting_writers
