// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_writers.hpp"

#include "errors.hpp"
#include "readers/detail_keys.hpp"
#include "readers/trainer_keys.hpp"

#include <ballast/core/error.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/plan/judge_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ballast_cli {

namespace {

using ballast::sentence;
using ballast::training_setting;

/// Lists what two settings do not share.
class difference_list {
 public:
  explicit difference_list(std::vector<std::string>& out) : out_(out) {}

  /// `mine` is in the setting and `theirs` in the file.
  void add(std::string const& label, std::string const& mine, std::string const& theirs) {
    auto const known = std::any_of(out_.begin(), out_.end(), [&](auto const& line) { return line.starts_with(label); });
    if (mine != theirs && !known) out_.push_back(label + (mine.empty() ? "" : " " + mine) + ", in the file " + theirs);
  }
  void number(std::string const& label, std::int64_t mine, std::int64_t theirs) {
    add(label, std::to_string(mine), std::to_string(theirs));
  }
  void flag(std::string const& label, bool mine, bool theirs) {
    if (mine != theirs) add(label, mine ? "on" : "off", theirs ? "on" : "off");
  }

 private:
  std::vector<std::string>& out_;
};

[[nodiscard]] std::string numbers_in_words(std::vector<std::uint32_t> const& of) {
  std::string out;
  for (auto const n : of) out += (out.empty() ? "" : " ") + std::to_string(n);
  return out;
}
[[nodiscard]] std::string optimizer_in_words(ballast::optimizer const& of) {
  return sentence(of.name, " of ", of.state.parameter, " + ", of.state.gradient, " + ", of.state.optimizer, " bytes");
}
[[nodiscard]] std::string trained_parts_in_words(ballast::trainable const& of) {
  return of.what == ballast::trained::all ? "all" : ballast::detail::trained_in_words(of).substr(6);
}
/// The other models beside the first: not what its adapters train whole.
[[nodiscard]] std::vector<imported_role> models_beside(imported_setting const& of) {
  auto out = of.roles;
  std::erase_if(out, [](auto const& role) { return role.role.starts_with(trained_copy); });
  return out;
}
[[nodiscard]] std::string roles_in_words(imported_setting const& of) {
  std::vector<std::string> names;
  for (auto const& role : of.roles)
    if (role.resident) names.push_back(role.role);
  std::sort(names.begin(), names.end());
  std::string out;
  for (auto const& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

void compare_kernels(imported_setting const& of, imported_setting const& back, difference_list& list) {
  auto const &mine = of.setting.model, &theirs = back.setting.model;
  if (mine.framework != theirs.framework)
    return list.add("tensors as counted for", std::string(mine.framework.name), std::string(theirs.framework.name));
  auto a = mine.kernels, b = theirs.kernels;
  list.flag("computation in float32", a.value > 2, b.value > 2);
  list.flag("products in 8 bits", a.fp8 || of.time.rates.fp8, b.fp8 || back.time.rates.fp8);
  list.flag("dropout", a.hidden_dropout || a.attention_dropout, b.hidden_dropout || b.attention_dropout);
  list.flag("activations in host memory", a.offload_all || !a.moved.empty(), b.offload_all || !b.moved.empty());
  list.flag("FlashAttention's own backend", a.flash, b.flash);
  list.flag("grouped products of experts", a.grouped_gemm, b.grouped_gemm);
  list.flag("hidden exchanges of tensor parallelism", a.tensor_overlap, b.tensor_overlap);
  list.flag("hidden exchanges of experts", a.expert_overlap, b.expert_overlap);
  for (auto* const k : {&a, &b}) {
    if (mine.language.what != ballast::trained::low_rank) k->adapter_value = 2;
    if (of.setting.pipeline.stages == 1) k->deferred = 0;
    k->fp8 = k->hidden_dropout = k->attention_dropout = k->flash = k->grouped_gemm = k->tensor_overlap = k->expert_overlap = false;
    k->stream_pools = k->kept_copies = k->offload_all = false;  // of the states, as their memory says
    k->local_gradient = 0;
    k->value = 2;
    k->moved = {};
  }
  if (a != b) list.add("other kernels", "of the setting", "those of its defaults");
  auto const &time = of.time, &other = back.time;
  list.flag("torch.compile", time.rates.family == ballast::kernel_family::compiled, other.rates.family == ballast::kernel_family::compiled);
  list.flag("FlashAttention 3", time.attention == ballast::attention_library::flash3,
            other.attention == ballast::attention_library::flash3);
  list.flag("CUDA graphs", time.graphs != ballast::graph_scope::none, other.graphs != ballast::graph_scope::none);
  list.flag("tokens sent once to a node", time.dispatcher == ballast::token_dispatcher::once,
            other.dispatcher == ballast::token_dispatcher::once);
  list.flag("hidden exchanges of gradients", time.gradient_overlap, other.gradient_overlap);
}

/// Adds what the file `back` says otherwise than `of`.
void compare(imported_setting const& of, imported_setting const& back, std::vector<std::string>& out) {
  difference_list list(out);
  auto const &by = of.setting, &is = back.setting;
  auto const &m = by.model, &n = is.model;
  if (back.task != training_task::unsaid && of.task != training_task::unsaid)
    list.add("the kind of training:", std::string(in_words(of.task)), std::string(in_words(back.task)));
  list.number("pipeline stages", static_cast<std::int64_t>(by.pipeline.stages), static_cast<std::int64_t>(is.pipeline.stages));
  list.number("tensor parallelism", m.spread.tensor, n.spread.tensor);
  list.number("context parallelism", m.spread.context, n.spread.context);
  auto const same = out.empty();
  if (m.spread.context > 1 && n.spread.context > 1)
    list.flag("context parallelism in a ring", m.method == ballast::context_method::ring, n.method == ballast::context_method::ring);
  list.flag("sequence parallelism", m.spread.sequence_parallel, n.spread.sequence_parallel);
  list.number("expert parallelism", m.expert, n.expert);
  if (of.model.experts > 0) list.number("expert-tensor parallelism", m.experts().expert_tensor, n.experts().expert_tensor);
  list.number("expert capacity in thousandths", m.expert_capacity, n.expert_capacity);
  list.number("ZeRO stage", m.spread.zero, n.spread.zero);
  if (by.pipeline.stages == is.pipeline.stages) {
    list.add("schedule", ballast::detail::schedule_in_words(by.pipeline.schedule).substr(9),
             ballast::detail::schedule_in_words(is.pipeline.schedule).substr(9));
    if (by.chunks() == is.chunks())
      list.add("the cut", numbers_in_words(boundaries_of(by, of.model)), numbers_in_words(boundaries_of(is, of.model)));
  }
  list.number("sequence of", by.sequence, is.sequence);
  list.number("micro-batch of", by.micro_batch, is.micro_batch);
  if (same) list.number("micro-batches of a rank:", by.micro_batches, is.micro_batches);
  list.add("recompute", ballast::detail::recompute_in_words(by.recompute), ballast::detail::recompute_in_words(is.recompute));
  list.add("optimizer", optimizer_in_words(m.optimizer), optimizer_in_words(n.optimizer));
  list.add("offload", std::string(ballast::detail::offload_in_words(m.moved)), std::string(ballast::detail::offload_in_words(n.moved)));
  list.add("train", trained_parts_in_words(m.language), trained_parts_in_words(n.language));
  list.add("head loss", to_string(m.loss), to_string(n.loss));
  list.flag("attention with stored scores", m.attention != ballast::attention_kernel::fused,
            n.attention != ballast::attention_kernel::fused);
  list.flag("experts in 8 bits", m.fp8_experts, n.fp8_experts);
  list.add("other models beside it:", roles_in_words(of), roles_in_words(back));
  compare_kernels(of, back, list);
}

/// Adds what the file `back` says otherwise than `of` beside the setting.
void compare_details(imported_setting const& of, imported_setting const& back, std::vector<std::string>& out) {
  difference_list list(out);
  auto const &mine = of.details, &theirs = back.details;
  auto const number = [&](std::string const& label, std::int64_t a, std::int64_t b) {
    if (a > 0) list.add(label, std::to_string(a), b > 0 ? std::to_string(b) : "none");
  };
  auto const decimal = [&](std::string const& label, std::string const& a, std::string const& b) {
    auto const same = !a.empty() && !b.empty() && std::stod(a) == std::stod(b);
    if (!a.empty() && !same) list.add(label, a, b.empty() ? "none" : b);
  };
  auto const in_words = [](std::optional<bool> packs) { return !packs ? "none" : *packs ? "on" : "off"; };
  decimal("learning rate", mine.learning_rate, theirs.learning_rate);
  if (mine.packing) list.add("packing of samples", in_words(mine.packing), in_words(theirs.packing));
  number("tokens of a prompt:", mine.prompt, theirs.prompt);
  number("tokens of an answer:", mine.answer, theirs.answer);
  number("answers to a prompt:", mine.answers, theirs.answers);
  number("sequences drawn at once:", mine.drawn, theirs.drawn);
  number("tensor parallelism of the engine that draws answers:", mine.engine, theirs.engine);
  decimal("coefficient of the divergence from the reference", mine.penalty, theirs.penalty);
  auto const placed = !mine.penalty.empty() && std::stod(mine.penalty) > 0 && !theirs.penalty.empty() && std::stod(theirs.penalty) > 0;
  std::string core;  // keys that frameworks beside Megatron-Core do not have
  for (auto const& [key, value] : mine.core) {
    auto const at = theirs.core.find(key);
    if (at != theirs.core.end() && at->second == value) continue;
    if (key == "engine") {
      list.add("engine that draws answers:", value, at == theirs.core.end() ? "vllm" : at->second);
      continue;
    }
    if (key == "fp16") {
      list.add("16-bit format", key, "bf16");
      continue;
    }
    if (back.setting.model.framework.count == ballast::tensor_count::megatron)
      list.add(key, value, at == theirs.core.end() ? "none" : at->second);
    else
      core += (core.empty() ? "" : ", ") + key + " " + value;
  }
  if (!core.empty()) list.add("keys of Megatron-Core:", core, "none");
  for (auto const& [what, value] : mine.numbers) {
    auto const at = theirs.numbers.find(what);
    decimal(std::string(what), value, at == theirs.numbers.end() ? "" : at->second);
  }
  if (placed)
    list.add("divergence in", mine.penalises_rewards ? "the reward" : "the loss", theirs.penalises_rewards ? "the reward" : "the loss");
}

[[nodiscard]] std::string_view ending_of(std::string_view text) {
  if (text.starts_with('{')) return ".json";
  if (text.starts_with('[')) return ".toml";
  auto const word = text.substr(0, text.find_first_of(" \n"));
  return word.ends_with(':') ? ".yaml" : ".sh";
}

/// Reads what was written. What the file leaves to its program is told, and listed.
[[nodiscard]] std::optional<imported_setting> read_again(framework_format const& to, std::string const& text, imported_setting const& of,
                                                         std::vector<std::string>& not_said) {
  auto const& by = of.setting;
  setting_request asked{};
  asked.model = of.model;
  asked.gpus = by.gpus();
  asked.framework = to.word;
  std::string why;
  for (auto told = 0; told < 3; ++told) {
    if (told > 0) asked.sequence = by.sequence;
    if (told > 1) asked.micro_batch = by.micro_batch;
    if (told > 1) asked.micro_batches = by.micro_batches;
    try {
      auto out = read_framework_setting(text, "file" + std::string(ending_of(text)), asked);
      if (told > 0) not_said.push_back("sequences of " + std::to_string(by.sequence) + " tokens, which the program is told");
      if (told > 1) not_said.push_back(sentence(by.micro_batches, " micro-batches of ", by.micro_batch, ", which the program is told"));
      return out;
    } catch (bad_input const& e) {
      why = e.what();
      if (why.find(told == 0 ? "--seq-length" : "--micro-batch") == why.npos) break;  // only what the command line can say
    }
  }
  not_said.push_back("all of it, as it cannot be read: " + why);
  return std::nullopt;
}

[[nodiscard]] std::int64_t most_memory(imported_setting const& of) {
  std::int64_t most = 0;
  for (auto const& m : judge_setting(of.model, of.setting, ballast::cluster{}).memory) most = (std::max)(most, m.bytes());
  return most;
}

struct attempt {
  training_setting setting;
  written_setting written;
  std::optional<imported_setting> back;
  std::vector<std::string> before;  ///< what is not said, whatever the framework of `back` counts
  static constexpr std::size_t unusable = 1000;

  /// How little of the setting is in the file: a file that cannot be read, or needs more memory than there is, is worst.
  [[nodiscard]] std::size_t lost(std::int64_t memory) const {
    auto const fits = back && most_memory(*back) <= memory;
    return written.not_said.size() + (fits ? 0 : unusable);
  }
};

/// The setting under the framework of another: what that keeps and computes with, in the degrees of this one.
void take_framework(imported_setting const& from, imported_setting& to) {
  auto const& m = from.setting.model;
  auto& n = to.setting.model;
  n.framework = m.framework;
  n.kernels = m.kernels;
  n.optimizer = m.optimizer;
  n.loss = m.loss;
  n.attention = m.attention;
  to.time = from.time;
}

/// Leaves out the line of a file, or of a command, that begins with a key.
void leave_out(std::string& text, std::string_view key) {
  for (std::size_t begin = 0; begin < text.size();) {
    auto const end = (std::min)(text.find('\n', begin), text.size() - 1) + 1;
    auto const first = text.find_first_not_of(" -", begin);
    if (first < end && text.compare(first, key.size(), key) == 0)
      text.erase(begin, end - begin);
    else
      begin = end;
  }
}

/// Micro-batches of as many samples of the longest length as the tokens of one hold.
void part_samples(imported_setting& of) {
  auto& by = of.setting;
  auto& d = of.details;
  auto const tokens = by.sequence * by.micro_batch;
  if (tokens <= d.sample) return;
  by.micro_batch = tokens / d.sample;
  by.sequence = d.sample;
  by.micro_batches = (std::max)(d.samples / (by.ranks() * by.micro_batch), std::int64_t{1});
  d.sample = d.samples = 0;
}

[[nodiscard]] attempt written_as(framework_format const& to, imported_setting const& of, task_words const& words) {
  attempt out{.setting = of.setting, .written = {}, .back = {}, .before = {}};
  auto one = of;
  auto& by = one.setting;
  auto const& details = of.details;
  auto& not_said = out.written.not_said;
  if (details.sample > 0 && !words.counts_tokens) part_samples(one);
  if (by.micro_batch % words.pairs != 0)
    not_said.push_back(sentence("a micro-batch of ", by.micro_batch, ", which is no multiple of pairs"));
  by.micro_batch = (std::max)(by.micro_batch / words.pairs, std::int64_t{1});
  auto const known = details.answer > 0 && details.answer < by.sequence;
  auto const answer = words.answer == 0 ? 0 : known ? details.answer : words.answer;
  if (answer > 0 && by.sequence > answer) {
    by.sequence -= answer;
    if (!known) not_said.push_back(sentence("how much of a sequence is the answer: ", answer, " tokens are assumed"));
  }
  one.roles = models_beside(of);
  auto exported = to.write(one);
  auto& text = out.written.text = std::move(exported.text);
  if (words.from.empty())
    text.insert(0, words.to);
  else if (auto const at = text.find(words.from); at != text.npos)
    text.replace(at, words.from.size(), words.to);
  for (auto const& key : words.without)
    if (!key.empty()) leave_out(text, key);
  write_details(to, of, text);
  if (!text.ends_with('\n')) text += '\n';
  out.back = read_again(to, text, of, not_said);
  for (auto& lost : exported.without)
    if (!out.back || lost.find(", which") != lost.npos) not_said.push_back(std::move(lost));
  out.before = not_said;
  if (out.back) compare(of, *out.back, not_said);
  return out;
}

/// Of the words for this kind of training, those of which the file says most.
[[nodiscard]] attempt best_attempt(framework_format const& to, imported_setting const& of) {
  auto const worth = [&](attempt const& is) {  // another kind is worst
    return std::pair{!is.back || is.back->task != of.task, is.written.not_said.size()};
  };
  std::optional<attempt> best;
  for (auto const& words : to.tasks)
    if (words.task == of.task) {
      auto one = written_as(to, of, words);
      if (!best || worth(one) < worth(*best)) best = std::move(one);
    }
  if (best) return std::move(*best);
  return written_as(to, of, to.tasks.empty() ? task_words{.task = of.task} : to.tasks.front());
}

/// Trainings without further models are written for each other; of all others the file would be of another kind.
void require_task(framework_format const& to, imported_setting const& of) {
  using enum training_task;
  auto const plain = models_beside(of).empty() && (of.task == unsaid || of.task == pretraining || of.task == finetuning);
  auto const has = [&](framework_format const& format) {
    return std::any_of(format.tasks.begin(), format.tasks.end(), [&](auto const& words) { return words.task == of.task; });
  };
  if (plain || to.tasks.empty() || has(to)) return;
  std::string others;
  for (auto const* const format : framework_formats())
    if (format->write != nullptr && has(*format)) others += (others.empty() ? "" : ", ") + std::string(format->word);
  throw bad_input("--write " + std::string(to.word) + ": files of " + std::string(to.name) + " have no " + std::string(in_words(of.task)) +
                  (others.empty() ? "" : "; those of " + others + " have"));
}

/// Refuses a file that would be of another kind, as the settings of some frameworks need models that are not given.
void require_same_task(framework_format const& to, imported_setting const& of, attempt const& is) {
  using enum training_task;
  auto const plain = of.task == unsaid || of.task == pretraining || of.task == finetuning;
  if (plain || !is.back || is.back->task == unsaid || is.back->task == of.task) return;
  throw bad_input("--write " + std::string(to.word) + ": a file of " + std::string(to.name) + " would be " +
                  std::string(in_words(is.back->task)) + ", not " + std::string(in_words(of.task)) +
                  ", as the setting lacks models or answers that such a file names");
}

void comment(written_setting& out, framework_format const& to) {
  if (out.text.starts_with('{')) return;
  std::string lines;
  for (auto const& lost : out.not_said) lines += "# Not said by " + std::string(to.name) + ": " + lost + ".\n";
  out.text.insert(0, lines);
}

}  // namespace

void require_written(framework_format const& to) {
  if (to.write != nullptr) return;
  std::string all;
  for (auto const* const format : framework_formats())
    if (format->write != nullptr) all += (all.empty() ? "" : ", ") + std::string(format->word);
  throw bad_input("--write " + std::string(to.word) + ": settings of " + std::string(to.name) + " are read, but not written; written are " +
                  all);
}

written_setting write_setting(framework_format const& to, imported_setting const& of) {
  require_written(to);
  require_task(to, of);
  auto best = best_attempt(to, of);
  require_same_task(to, of, best);
  auto out = std::move(best.written);
  if (best.back) compare_details(of, *best.back, out.not_said);
  comment(out, to);
  return out;
}

written_space space_of(framework_format const& to, imported_setting const& of) {
  require_written(to);
  require_task(to, of);
  written_space out{.of = of, .other = false, .space = {}};
  auto const first = best_attempt(to, of);
  require_same_task(to, of, first);
  auto const& back = first.back;
  if (back) take_framework(*back, out.of);
  auto const &own = of.setting.model, &theirs = out.of.setting.model;
  out.other = own.framework != theirs.framework || own.kernels != theirs.kernels || own.optimizer != theirs.optimizer;
  auto const keeps = [&](ballast::parallelism const& spread, std::uint64_t stages, std::int64_t expert) {
    auto probe = out.of;
    auto& by = probe.setting;
    by.boundaries.clear();
    by.recompute = {};
    by.pipeline.stages = stages;
    by.pipeline.schedule = ballast::one_f_one_b_schedule{};
    by.micro_batch = 2;  // as pairs need it
    by.model.spread = spread;
    by.model.expert = expert;
    by.model.expert_tensor = 0;
    by.model.kernels.instances = 1;
    auto const is = best_attempt(to, probe).back;
    return is && is->setting.pipeline.stages == stages && is->setting.model.expert == expert &&
           is->setting.model.spread.tensor == spread.tensor && is->setting.model.spread.context == spread.context &&
           is->setting.model.spread.zero == spread.zero;
  };
  auto& space = out.space;
  std::vector<int> zero;
  for (auto const stage : {3, 2, 1, 0})
    if ((stage > 0 || zero.empty() || zero.back() != 1) && keeps({.data = 4, .zero = stage}, 1, 1)) zero.push_back(stage);
  if (!zero.empty()) space.zero = zero;
  auto const least = space.zero.back();
  if (!keeps({.tensor = 2, .data = 4, .sequence_parallel = true, .zero = least}, 1, 1)) space.tensor = {1};
  if (!keeps({.context = 2, .data = 4, .zero = least}, 1, 1)) space.context = {1};
  if (!keeps({.data = 4, .zero = (std::min)(least, 1)}, 2, 1)) space.stages = {1};
  if (of.model.experts > 0 && !keeps({.data = 4, .zero = least}, 1, 2)) space.expert = {1};
  if (std::any_of(to.tasks.begin(), to.tasks.end(), [&](auto const& words) { return words.task == of.task && words.pairs == 2; }))
    space.micro_batch = {2, 4, 8, 16, 32};
  return out;
}

written_setting write_best(framework_format const& to, imported_setting const& of, written_space const& space,
                           std::span<training_setting const> settings) {
  std::vector<training_setting> all(settings.begin(), settings.end());
  for (auto const& setting : settings)  // what formats of trainers can say
    if (setting.recompute.what != ballast::recompute_setting::kind::none) {
      all.push_back(setting);
      all.back().recompute = {.what = ballast::recompute_setting::kind::uniform};
    }
  if (!space.other) all.push_back(of.setting);
  auto one = space.of;
  auto const memory = settings.front().pipeline.memory;
  std::optional<attempt> best;
  std::size_t least = 0, tried = 0;
  for (auto const& setting : all) {
    ++tried;
    one.setting = setting;
    auto made = best_attempt(to, one);
    if (best && made.written.not_said.size() >= least) continue;
    auto const lost = made.lost(memory);
    if (best && lost >= least) continue;
    made.written.settled = lost == 0 ? tried <= settings.size() : tried == 1 && lost < attempt::unusable;
    best = std::move(made);
    least = lost;
    if (lost == 0) break;
  }
  auto& out = best->written;
  if (best->back) {
    auto given = of;  // in the degrees of the file, under its own framework
    given.setting = best->setting;
    take_framework(of, given);
    out.not_said = best->before;
    compare(given, *best->back, out.not_said);
    auto const mine = most_memory(given), theirs = most_memory(*best->back);
    if (mine != theirs)
      out.not_said.push_back("memory of " + std::to_string(mine) + " bytes on the fullest device, in the file " + std::to_string(theirs) +
                             (theirs > memory ? ", which does not fit" : ""));
    compare_details(of, *best->back, out.not_said);
  }
  comment(out, to);
  return std::move(out);
}

std::string rate_or_example(imported_setting const& of) {
  auto const& rate = of.details.learning_rate;
  return rate.empty() ? "1.0e-5  # an example: the setting says none" : rate;
}

std::string lines_of_answers(imported_setting const& of, std::string_view indent, std::string_view sleep) {
  auto const& d = of.details;
  auto const is = [&](std::string_view name, bool away) {
    return std::any_of(of.roles.begin(), of.roles.end(), [&](auto const& role) { return role.role == name && !(role.resident && away); });
  };
  std::string out;
  auto const line = [&](auto const&... parts) { out += sentence(indent, parts..., "\n"); };
  if (d.answer > 0) line("max_completion_length: ", d.answer);
  if (d.answers > 0) line("num_generations: ", d.answers);
  if (d.drawn > 0 && d.drawn != of.setting.global_batch()) line("generation_batch_size: ", d.drawn);
  line("beta: ", !d.penalty.empty() ? d.penalty : is("reference", false) ? "0.04" : "0");
  if (d.engine == 0) return out;
  line("use_vllm: true\n", indent, "vllm_mode: colocate");
  if (is("rollout", true) || !is("rollout", false)) line(sleep);
  out += sentence(indent.empty() ? "vllm_tensor_parallel_size: " : "vllm:\n  tensor_parallel_size: ", d.engine, "\n");
  return out;
}

std::string swift_lines(imported_setting const& of, std::string_view rate) {
  auto const& d = of.details;
  std::string out;
  if (!d.learning_rate.empty()) out += sentence(rate, ": ", d.learning_rate, "\n");
  if (of.task == training_task::grpo) return out + lines_of_answers(of, "", "sleep_level: 1");
  if (d.answer > 0 && (of.task == training_task::ppo || of.task == training_task::distillation))
    out += sentence("max_completion_length: ", d.answer, "\n");
  if (of.task == training_task::ppo && !d.penalty.empty()) out += sentence("kl_coef: ", d.penalty, "\n");
  return out;
}

std::string as_command(std::string const& command, std::string_view lines) {
  auto out = command;
  while (!lines.empty()) {
    auto const end = (std::min)(lines.find('\n'), lines.size());
    auto const line = lines.substr(0, end);
    lines.remove_prefix((std::min)(end + 1, lines.size()));
    auto const colon = line.find(": ");
    if (colon == line.npos) continue;
    auto const value = line.substr(colon + 2);
    out += " \\\n  --" + std::string(line.substr(0, colon)) + " ";
    out += value.find(' ') == value.npos ? std::string(value) : "\"" + std::string(value) + "\"";
  }
  return out + "\n";
}

}  // namespace ballast_cli
