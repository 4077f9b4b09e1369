// SPDX-License-Identifier: Apache-2.0
#include "readers/setting_table.hpp"

#include "errors.hpp"
#include "nearest.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>
#include <utility>

namespace ballast_cli {

namespace {

[[nodiscard]] std::string value_in_words(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : " ") + word;
  return words.empty() ? "without a value" : "= " + printable(text);
}

// Words of keys. Those of keys that do nothing to memory and time whatever other words they have, such as eval_batch_size:
constexpr std::string_view aside_words[]{"eval",     "evaluation", "val",   "valid",   "validation", "test",  "log",         "logs",
                                         "logging",  "logger",     "wandb", "swanlab", "mlflow",     "comet", "tensorboard", "trackio",
                                         "monitor",  "report",     "save",  "saving",  "hub",        "push",  "print",       "profile",
                                         "profiler", "profiling",  "debug", "infer",   "inference"};
constexpr std::string_view logit_words[]{"softmax", "logit", "logits", "logprob", "logprobs"};
// words of keys on which memory or time may depend:
constexpr std::string_view weighty_words[]{"parallel",
                                           "parallelism",
                                           "degree",
                                           "shard",
                                           "sharded",
                                           "sharding",
                                           "reshard",
                                           "fsdp",
                                           "fsdp2",
                                           "zero",
                                           "hpz",
                                           "tp",
                                           "pp",
                                           "cp",
                                           "dp",
                                           "ep",
                                           "sp",
                                           "stage",
                                           "stages",
                                           "pipeline",
                                           "virtual",
                                           "interleave",
                                           "interleaved",
                                           "offload",
                                           "offloading",
                                           "offloaded",
                                           "swap",
                                           "cpu",
                                           "recompute",
                                           "remat",
                                           "recomputation",
                                           "checkpointing",
                                           "activation",
                                           "activations",
                                           "expert",
                                           "experts",
                                           "moe",
                                           "batch",
                                           "batches",
                                           "microbatch",
                                           "micro",
                                           "accumulation",
                                           "seq",
                                           "seqlen",
                                           "sequence",
                                           "context",
                                           "length",
                                           "len",
                                           "token",
                                           "tokens",
                                           "layer",
                                           "layers",
                                           "hidden",
                                           "head",
                                           "heads",
                                           "ffn",
                                           "vocab",
                                           "width",
                                           "dim",
                                           "rank",
                                           "lora",
                                           "dora",
                                           "qlora",
                                           "adapter",
                                           "adapters",
                                           "peft",
                                           "quant",
                                           "quantization",
                                           "quantize",
                                           "bits",
                                           "4bit",
                                           "8bit",
                                           "fp4",
                                           "fp8",
                                           "fp16",
                                           "bf16",
                                           "fp32",
                                           "mxfp8",
                                           "nvfp4",
                                           "precision",
                                           "dtype",
                                           "amp",
                                           "master",
                                           "optim",
                                           "optimizer",
                                           "galore",
                                           "muon",
                                           "kernel",
                                           "kernels",
                                           "fused",
                                           "fusion",
                                           "flash",
                                           "attn",
                                           "attention",
                                           "liger",
                                           "compile",
                                           "graph",
                                           "graphs",
                                           "memory",
                                           "buffer",
                                           "buffers",
                                           "bucket",
                                           "prefetch",
                                           "cache",
                                           "overlap",
                                           "freeze",
                                           "frozen",
                                           "unfreeze",
                                           "trainable",
                                           "pack",
                                           "packing",
                                           "packed",
                                           "padding",
                                           "gpu",
                                           "gpus",
                                           "node",
                                           "nodes",
                                           "nnodes",
                                           "nproc",
                                           "device",
                                           "devices",
                                           "world",
                                           "vllm",
                                           "sglang",
                                           "colocate",
                                           "rollout",
                                           "ref",
                                           "reference",
                                           "critic",
                                           "reward",
                                           "teacher",
                                           "image",
                                           "images",
                                           "pixels",
                                           "video",
                                           "vision",
                                           "tower",
                                           "mtp",
                                           "model"};
// and those of keys that do nothing to them if they have none of these words:
constexpr std::string_view light_words[]{
    "lr",        "learning",    "warmup",    "decay",         "beta",        "beta1",      "beta2",  "betas",      "eps",     "epsilon",
    "clip",      "norm",        "seed",      "epoch",         "epochs",      "step",       "steps",  "data",       "dataset", "datasets",
    "tokenizer", "template",    "prompt",    "chat",          "column",      "columns",    "field",  "shuffle",    "split",   "stream",
    "streaming", "worker",      "workers",   "preprocessing", "loader",      "dataloader", "output", "input",      "dir",     "path",
    "file",      "files",       "folder",    "name",          "project",     "run",        "tag",    "tags",       "url",     "port",
    "host",      "addr",        "address",   "endpoint",      "timeout",     "interval",   "freq",   "frequency",  "every",   "verbose",
    "nan",       "temperature", "top",       "penalty",       "coef",        "coeff",      "loss",   "label",      "labels",  "metric",
    "metrics",   "version",     "license",   "author",        "description", "experiment", "resume", "checkpoint", "ckpt",    "callback",
    "callbacks", "plugin",      "plugins",   "trust",         "remote",      "code",       "token",  "cluster",    "ratio",   "scheduler",
    "schedule",  "scale",       "init",      "reset",         "alpha",       "gamma",      "kl",     "system",     "date",    "time",
    "account",   "job",         "component", "target",        "type"};

/// The parts of a key between dots, dashes and underscores.
template <class Each>
[[nodiscard]] bool any_part(std::string_view key, Each const& each) {
  for (std::size_t first = 0; first < key.size();) {
    auto const end = (std::min)(key.find_first_of("._-/", first), key.size());
    if (end > first && each(key.substr(first, end - first))) return true;
    first = end + 1;
  }
  return false;
}
[[nodiscard]] bool has_word_of(std::string_view key, std::span<std::string_view const> words) {
  return any_part(key, [&](std::string_view part) { return std::find(words.begin(), words.end(), part) != words.end(); });
}

/// A key as it is up to 160 letters, so that what tells keys of long sections apart is not cut.
[[nodiscard]] std::string in_full(std::string_view key) {
  std::string out;
  for (; key.size() > 40 && out.size() < 120; key.remove_prefix(40)) out += printable(key.substr(0, 40));
  return out + printable(key);
}

/// Without its digits: names that differ in these alone are others, as beta1 and beta2.
[[nodiscard]] std::string letters_of(std::string_view name) {
  std::string text(name);
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

[[nodiscard]] bool is_none(setting_entry const& entry) {
  return entry.words.size() == 1 && (entry.words[0] == "None" || entry.words[0] == "null" || entry.words[0] == "~");
}

// Keys, behind their sections, that are numbers in every framework, and decide neither memory nor the time of a step.
constexpr std::string_view number_keys[]{"train_iters",  "train_samples",        "eval_iters",      "eval_interval",   "eval_steps",
                                         "log_interval", "logging_steps",        "save_interval",   "save_steps",      "lr",
                                         "min_lr",       "learning_rate",        "lr_decay_iters",  "lr_warmup_iters", "lr_warmup_steps",
                                         "warmup_steps", "warmup_ratio",         "weight_decay",    "max_grad_norm",   "clip_grad",
                                         "seed",         "num_train_epochs",     "num_epochs",      "max_steps",       "total_epochs",
                                         "max_epochs",   "total_training_steps", "max_train_steps", "adam_beta1",      "adam_beta2",
                                         "adam_epsilon", "exit_interval"};

/// Words that settings have in the place of a number, and templates of one.
[[nodiscard]] bool stands_for_number(std::string_view word) {
  for (auto const* const other : {"", "auto", "true", "false", "True", "False", "no", "inf", "none"})
    if (word == other) return true;
  return word.find_first_of("$`{}<>[](),?*/+% ") != word.npos;
}
[[nodiscard]] bool reads_as_number(std::string word) {
  std::erase(word, '_');
  double value = 0;
  auto const [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error != std::errc::invalid_argument && stop == word.data() + word.size();
}
/// Refuses a word where every framework has a number.
void require_numbers(setting_table const& table) {
  for (auto const& entry : table.entries()) {
    if (entry.words.size() != 1 || is_none(entry) || stands_for_number(entry.words[0]) || reads_as_number(entry.words[0])) continue;
    auto const name = std::string_view(entry.key).substr(entry.key.rfind('.') + 1);
    if (std::find(std::begin(number_keys), std::end(number_keys), name) != std::end(number_keys))
      table.refuse(entry.key, "must be a number");
  }
}

}  // namespace

void setting_table::add(setting_entry entry) {
  if (auto const* const other = look_up(entry.key)) {
    if (other->words != entry.words)
      throw bad_input(entry.place + ": " + printable(entry.key) + " is given twice, and before " + value_in_words(other->words));
    return;
  }
  if (entries_.size() == 1 << 12) throw bad_input(entry.place + ": there are more than 2^12 keys");
  entries_.push_back(std::move(entry));
}

setting_entry const* setting_table::look_up(std::string_view key) const {
  auto const at = std::find_if(entries_.begin(), entries_.end(), [&](auto const& e) { return e.key == key; });
  return at == entries_.end() ? nullptr : &*at;
}

bool setting_table::has_section(std::string_view prefix) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](auto const& e) { return e.key.starts_with(prefix); });
}

setting_entry const* setting_table::take(std::string_view key) {
  asked_.emplace_back(key);
  for (auto& entry : entries_) {
    if (entry.key != key) continue;
    entry.used = true;
    return is_none(entry) ? nullptr : &entry;
  }
  return nullptr;
}

void setting_table::refuse(std::string_view key, std::string const& why) const {
  auto const* const entry = look_up(key);
  if (entry == nullptr) throw bad_input(file_ + ": " + std::string(key) + " " + why);
  throw bad_input(entry->place + ": " + in_full(key) + " " + value_in_words(entry->words) + " " + why);
}

std::string const& setting_table::only_word(setting_entry const& entry) const {
  if (entry.words.size() != 1) refuse(entry.key, "is not one value");
  auto const& word = entry.words[0];
  if (word.find("$((") != word.npos) refuse(entry.key, "has a sum of variables that are not set in the file");
  if (word.find('$') != word.npos) refuse(entry.key, "has a variable that is not set in the file");
  return word;
}

std::optional<std::int64_t> setting_table::number(std::string_view key, std::int64_t least, std::int64_t most) {
  auto const* const entry = take(key);
  if (entry == nullptr) return std::nullopt;
  auto word = only_word(*entry);
  std::erase(word, '_');  // YAML and Python allow 500_000
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc{} && stop == word.data() + word.size() && value >= least && value <= most) return value;
  double decimal = 0;  // JSON files write 5e8
  auto const [end, fault] = std::from_chars(word.data(), word.data() + word.size(), decimal);
  if (fault == std::errc{} && end == word.data() + word.size() && decimal >= static_cast<double>(least) &&
      decimal <= static_cast<double>(most) && std::floor(decimal) == decimal)
    return static_cast<std::int64_t>(decimal);
  refuse(key,
         "must be a whole number from " + std::to_string(least) + " to " + (most == std::int64_t{1} << 40 ? "2^40" : std::to_string(most)));
}

std::int64_t setting_table::required(std::string_view key) {
  if (auto const value = number(key)) return *value;
  throw bad_input(file_ + ": " + std::string(key) + " is missing");
}

std::optional<double> setting_table::decimal_number(std::string_view key) {
  auto const* const entry = take(key);
  if (entry == nullptr) return std::nullopt;
  auto const& word = only_word(*entry);
  double value = 0;
  auto const [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || stop != word.data() + word.size() || !(value >= 0 && value <= 1e12))
    refuse(key, "must be a number from 0 to 10^12");
  return value;
}

bool setting_table::flag(std::string_view key, bool otherwise) {
  auto const* const entry = take(key);
  if (entry == nullptr) return otherwise;
  if (entry->words.empty()) return true;
  auto const& word = only_word(*entry);
  for (auto const* const yes : {"true", "True", "1", "yes"})
    if (word == yes) return true;
  for (auto const* const no : {"false", "False", "0", "no"})
    if (word == no) return false;
  refuse(key, "must be true or false");
}

std::string setting_table::word(std::string_view key, std::string const& otherwise) {
  auto const* const entry = take(key);
  return entry == nullptr ? otherwise : only_word(*entry);
}

std::string setting_table::word_or_none(std::string_view key) const {
  auto const* const entry = look_up(key);
  return entry == nullptr || entry->words.size() != 1 ? std::string() : entry->words[0];
}

bool setting_table::is_flag(std::string_view key) const {
  auto const* const entry = look_up(key);
  return entry != nullptr && entry->words.empty();
}

std::string setting_table::one_of_or(std::string_view key, std::string const& otherwise, std::vector<std::string_view> const& words) {
  auto const given = word(key);
  if (given.empty()) return otherwise;
  require_word(key, given, words);
  return std::string(*std::find_if(words.begin(), words.end(), [&](auto known) { return lower_case(known) == lower_case(given); }));
}

std::string setting_table::word_near(std::string_view key, std::string const& otherwise, std::vector<std::string_view> const& words) {
  auto given = word(key, otherwise);
  auto const known = std::any_of(words.begin(), words.end(), [&](auto meant) { return lower_case(given) == lower_case(meant); });
  for (auto const meant : words)
    if (!known && given.size() >= 4 && letters_of(given) != letters_of(meant) && edit_distance(given, meant) == 1)
      refuse(key, "is none that is known; is " + std::string(meant) + " meant?");
  return given;
}

void setting_table::require_word(std::string_view key, std::string_view given, std::vector<std::string_view> const& words) const {
  if (std::any_of(words.begin(), words.end(), [&](auto known) { return lower_case(known) == lower_case(given); })) return;
  std::string text;
  for (auto const known : words) text += (text.empty() ? "" : ", ") + std::string(known);
  refuse(key, "must be one of " + text + did_you_mean(given, words));
}

std::vector<std::string> setting_table::list(std::string_view key) {
  auto const* const entry = take(key);
  std::vector<std::string> out;
  if (entry == nullptr) return out;
  for (auto const& word : entry->words) {
    std::string part;
    for (auto const c : word + ",") {
      auto const parts = c == ',' || c == '[' || c == ']' || c == '(' || c == ')' || c == ' ' || c == '\'' || c == '"';
      if (!parts) part += c;
      if (parts && !part.empty()) out.push_back(std::exchange(part, {}));
    }
  }
  return out;
}

void setting_table::ignore(std::initializer_list<std::string_view> keys) {
  for (auto const key : keys) {
    auto const begin = key.substr(0, key.find('*'));
    auto const all = begin.size() < key.size(), section = begin.ends_with('.');
    auto const idle = key.ends_with("**") || has_word_of(begin, aside_words);
    if (!all) asked_.emplace_back(key);
    for (auto& entry : entries_) {
      auto const name = std::string_view(entry.key);
      if (name == begin || (section && name == begin.substr(0, begin.size() - 1))) entry.used = true;
      if (!all || !name.starts_with(begin)) continue;
      auto const end = section ? begin.size() - 1 : name.find('.', begin.size());
      entry.passed = (std::max)(entry.passed, (std::min)(end, name.size() - 1) + 1);
      entry.idle = entry.idle || idle || end == name.npos;
    }
  }
}

/// A longer name may differ in more letters, or lack its end; a new key of a framework differs in a word. Sections in front are those of
/// both.
bool setting_table::is_slip(setting_entry const& entry, std::string const& known) const {
  auto const section = entry.key.rfind('.') + 1;  // 0 without one
  if (known.size() <= section || known.size() > entry.key.size() + 16 || known.compare(0, section, entry.key, 0, section) != 0)
    return false;
  auto const name = std::string_view(entry.key).substr(section), meant = std::string_view(known).substr(section);
  auto const ends_early = name.size() >= 12 && meant.starts_with(name) && meant.size() - name.size() <= 3;
  if (!ends_early && edit_distance(name, meant) > (std::max)(name.size() / 8, std::size_t{1})) return false;
  if (entry.passed == 0) return true;
  return name.size() >= 6 && letters_of(name) != letters_of(meant) && look_up(known) == nullptr;
}

/// Without the beginning by which it is passed over, and without a section of which keys are known.
std::string_view setting_table::own_words(setting_entry const& entry) const {
  auto const section = std::string_view(entry.key).substr(0, entry.key.rfind('.') + 1);
  auto const known = std::any_of(asked_.begin(), asked_.end(), [&](auto const& key) { return key.starts_with(section); });
  return std::string_view(entry.key).substr((std::max)(entry.passed, known ? section.size() : 0));
}

passed_keys setting_table::finish(std::string const& framework) const {
  require_numbers(*this);
  passed_keys out;
  for (auto const& entry : entries_) {
    if (entry.used) continue;
    auto const own = own_words(entry);
    auto const computes = has_word_of(own, logit_words);  // as log_softmax
    auto const off = !computes && has_word_of(entry.key, aside_words);
    auto const slip =
        off ? asked_.end() : std::find_if(asked_.begin(), asked_.end(), [&](auto const& known) { return is_slip(entry, known); });
    if (slip != asked_.end())
      throw bad_input(entry.place + ": " + in_full(entry.key) + " is no key of " + framework + " that this program knows; is " + *slip +
                      " meant?");
    if (entry.idle) continue;
    auto const idle = off || is_none(entry) || has_word_of(own, light_words);
    auto const weighty = !off && !is_none(entry) && (computes || has_word_of(own, weighty_words));
    (weighty ? out.doubtful : idle ? out.harmless : out.unknown).push_back(in_full(entry.key));
  }
  if (2 * out.unknown.size() > entries_.size())
    throw bad_input(file_ + ": " + std::to_string(out.unknown.size()) + " of " + std::to_string(entries_.size()) + " keys, as " +
                    out.unknown.front() + ", are none of " + framework);
  return out;
}

void setting_table::refuse_others(std::string const& what) const {
  for (auto const& entry : entries_)
    if (!entry.used && entry.passed == 0)
      throw bad_input(entry.place + ": " + printable(entry.key) + " is no key of " + what + did_you_mean(entry.key, asked_));
}

}  // namespace ballast_cli
