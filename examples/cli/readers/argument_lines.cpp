// SPDX-License-Identifier: Apache-2.0
#include "readers/argument_lines.hpp"

#include "errors.hpp"
#include "readers/shell_script.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ballast_cli {

namespace {

[[nodiscard]] std::optional<std::int64_t> small_number(std::string const& text) {
  if (text.empty() || text.size() > 7 || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  auto const value = std::stoll(text);
  return value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

[[nodiscard]] bool is_flag(std::string const& word) { return word.size() > 2 && word.starts_with("--"); }

/// "--Micro-batch-size" becomes "micro_batch_size".
[[nodiscard]] std::string key_of_flag(std::string_view flag) {
  std::string key(flag.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// The key of a word such as `a.b=value`, `+a.b=value` or `++a.b=value`, and where its value begins; nothing for other words.
[[nodiscard]] std::optional<std::pair<std::string, std::size_t>> override_of(std::string const& word) {
  auto const first = (std::min)(word.find_first_not_of('+'), word.size()), equals = word.find('=');
  if (first > 2 || equals == word.npos || equals <= first) return {};
  auto const key = word.substr(first, equals - first);
  auto const plain = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/' || c == '@' || is_shell_name({&c, 1});
  };
  if (!is_shell_name(key.substr(0, 1)) || !std::all_of(key.begin(), key.end(), plain)) return {};
  return std::pair{key, equals + 1};
}

/// The last part of a path.
[[nodiscard]] std::string_view last_part(std::string_view word) { return word.substr(word.find_last_of('/') + 1); }

enum class work { other, none, training };

struct kind_of_work {
  work what = work::other;
  std::string sentence{};  ///< of `none`: what is done instead
};

[[nodiscard]] bool has_part(std::string_view word, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return word.find(part) != word.npos; });
}

/// Whether a command trains, by its program.
[[nodiscard]] kind_of_work work_of(shell_command const& command) {
  auto const& words = command.words;
  auto launches = false;
  for (std::size_t i = 0; i < words.size() && !is_flag(words[i].text); ++i) {
    auto const name = last_part(words[i].text);
    if ((name == "swift" || name == "megatron") && i + 1 < words.size()) {
      auto const& task = words[i + 1].text;
      if (task == "sft" || task == "pt" || task == "rlhf") return {.what = work::training};
      for (auto const& [other, does] : {std::pair{"infer", "answers"},
                                        {"deploy", "serves a model"},
                                        {"eval", "evaluates a model"},
                                        {"export", "converts a model"},
                                        {"merge-lora", "merges weights"},
                                        {"sample", "draws answers"},
                                        {"rollout", "serves answers to another training"},
                                        {"app", "serves a page"},
                                        {"web-ui", "serves a page"}})
        if (task == other) return {.what = work::none, .sentence = std::string(name) + " " + task + " " + does};
    }
  }
  auto const by_name = [&](std::string_view name, std::string_view path) -> kind_of_work {
    auto const shown = printable(name);
    if (path.find("tasks/") != path.npos) return {.what = work::none, .sentence = shown + " is one of the tasks that evaluate a model"};
    if (has_part(name, {"preprocess", "prepare_data", "data_prep", "tokenize", "download", "build_dataset"}))
      return {.what = work::none, .sentence = shown + " prepares data"};
    if (has_part(name, {"convert", "merge_", "_merge", "export", "combine_", "quantize", "prune", "hf2mcore", "mcore2hf"}))
      return {.what = work::none, .sentence = shown + " converts a model"};
    if (has_part(name, {"pretrain", "train", "finetune", "sft", "main_ppo", "run_clm"})) return {.what = work::training};
    if (has_part(name, {"generate", "generation", "inference", "infer_", "_infer", "server", "rollout"}))
      return {.what = work::none, .sentence = shown + " generates text"};
    if (has_part(name, {"evaluat", "eval_", "_eval", "main_eval", "mmlu", "validate", "benchmark_"}))
      return {.what = work::none, .sentence = shown + " evaluates a model"};
    return {};
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto const& word = words[i].text;
    auto const name = last_part(word);
    launches = launches || name == "torchrun" || name == "deepspeed" || name == "accelerate" || name.starts_with("python");
    auto const module = i > 0 && words[i - 1].text == "-m" && !word.starts_with("torch.") && word != "accelerate.commands.launch";
    auto const value =
        i > 0 && is_flag(words[i - 1].text) && words[i - 1].text.find('=') == word.npos && !words[i - 1].text.starts_with("--stand");
    if ((!name.ends_with(".py") && !module) || (value && i > 1 && !launches)) continue;
    auto const out = by_name(name.ends_with(".py") ? name : std::string_view(word), word);
    if (out.what != work::other) return out;
  }
  return {.what = launches ? work::training : work::other};
}

/// Programs whose flags are not those of a training.
[[nodiscard]] bool is_tool(std::string_view program) {
  for (auto const* const known : {"pip",
                                  "pip3",
                                  "conda",
                                  "apt",
                                  "apt-get",
                                  "git",
                                  "wget",
                                  "curl",
                                  "docker",
                                  "mkdir",
                                  "rm",
                                  "cp",
                                  "mv",
                                  "ls",
                                  "echo",
                                  "printf",
                                  "cat",
                                  "sed",
                                  "grep",
                                  "find",
                                  "hf",
                                  "modelscope",
                                  "ray",
                                  "kill",
                                  "tee",
                                  "cd",
                                  "set",
                                  "sleep",
                                  "tail",
                                  "head",
                                  "awk",
                                  "wait",
                                  "chmod",
                                  "tar",
                                  "unzip",
                                  "pkill",
                                  "huggingface-cli",
                                  "nvidia-smi",
                                  "tensorboard",
                                  "ulimit",
                                  "trap",
                                  "shopt",
                                  "read",
                                  "test",
                                  "[",
                                  "which",
                                  "return"})
    if (program == known) return true;
  return false;
}

/// Takes what a launcher of jobs says of its processes, and leaves the words of the program that it starts.
void strip_launcher(std::vector<shell_word>& words, std::map<std::string, std::string>& launched) {
  if (words.empty()) return;
  auto const first = last_part(words.front().text);
  auto wraps = false;
  for (auto const* const known :
       {"srun", "sbatch", "nsys", "mpirun", "mpiexec", "docker", "numactl", "nohup", "singularity", "apptainer", "salloc", "time"})
    wraps = wraps || first == known;
  if (!wraps) return;
  auto const program = std::find_if(words.begin() + 1, words.end(), [](auto const& w) {
    auto const name = last_part(w.text);
    return name.starts_with("python") || name == "torchrun" || name == "swift" || name == "megatron" || name == "deepspeed" ||
           name == "accelerate";
  });
  std::vector<std::string> own;
  for (auto at = words.begin(); at != program; ++at) own.push_back(at->text);
  if (program != words.end()) words.erase(words.begin(), program);
  for (std::size_t i = 0; i < own.size(); ++i)
    for (auto const* const known : {"--nodes", "--ntasks-per-node", "--gpus-per-node", "--gres"}) {
      if (own[i] == known && i + 1 < own.size()) launched[known] = own[i + 1];
      if (own[i].starts_with(std::string(known) + "=")) launched[known] = own[i].substr(own[i].find('=') + 1);
    }
}

/// The devices, by what launchers and their variables say, the surest first.
[[nodiscard]] std::optional<std::int64_t> devices(std::map<std::string, std::string> const& said) {
  auto const number = [&](char const* key) -> std::optional<std::int64_t> {
    auto const at = said.find(key);
    return at == said.end() ? std::nullopt : small_number(at->second.substr(at->second.find_last_of(':') + 1));
  };
  auto const product = [&](std::initializer_list<char const*> of_node, char const* nodes) -> std::optional<std::int64_t> {
    auto const many = said.contains(nodes) ? number(nodes) : std::optional<std::int64_t>(1);
    for (auto const* const key : of_node)
      if (auto const each = number(key); each && many) return *each * *many;
    return {};
  };
  if (said.contains("nproc_per_node")) {
    if (auto const out = product({"nproc_per_node"}, "nnodes")) return out;
    if (small_number(said.at("nproc_per_node"))) return {};  // of nodes that nobody knows
  }
  if (auto const out = number("num_processes")) return out;
  if (auto const out = product({"num_gpus"}, "num_nodes")) return out;
  if (auto const out = product({"NPROC_PER_NODE"}, "NNODES")) return out;
  if (said.contains("--nodes"))
    if (auto const out = product({"--gpus-per-node", "--gres", "--ntasks-per-node"}, "--nodes")) return out;
  for (auto const* const visible : {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES"})
    if (auto const at = said.find(visible);
        at != said.end() && !at->second.empty() && at->second.find_first_not_of("0123456789, ") == std::string::npos)
      return 1 + std::count(at->second.begin(), at->second.end(), ',');
  return {};
}

/// Adds the flags of a command. Of a flag that is given several times, the last is taken, as programs do.
class flag_reader {
 public:
  flag_reader(argument_lines& out, std::string const& name) : out_(out), name_(name) {}

  void add(shell_command const& command) {
    auto const& words = command.words;
    auto of_python = false;  // behind a program of Python, or of one whose words are its keys
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto const& word = words[i];
      of_python = of_python || word.text == "-m" || word.text.ends_with(".py") || last_part(word.text) == "nemo";
      if (!is_flag(word.text)) {
        auto const given = of_python ? override_of(word.text) : std::nullopt;
        if (given)
          keep(overrides_, {.key = given->first, .words = {word.text.substr(given->second)}, .place = place(word)});
        else
          out_.commands.push_back(word.text);
        continue;
      }
      auto const equals = word.text.find('=');
      setting_entry entry{.key = key_of_flag(std::string_view(word.text).substr(0, equals)), .words = {}, .place = place(word)};
      if (equals != word.text.npos)
        entry.words.push_back(word.text.substr(equals + 1));
      else
        while (i + 1 < words.size() && !is_flag(words[i + 1].text)) {
          auto const given = of_python ? override_of(words[i + 1].text) : std::nullopt;
          auto const follows = !entry.words.empty() && entry.words.front().find('=') == std::string::npos;  // another value
          if (given && (follows || given->first.find('.') != std::string::npos)) break;
          entry.words.push_back(words[++i].text);
          of_python = of_python || entry.words.back().ends_with(".py");
          if (entry.words.back().ends_with(".py")) {  // the program behind the flags of its launcher
            out_.commands.push_back(entry.words.back());
            entry.words.pop_back();
          }
        }
      keep(flags_, std::move(entry));
    }
  }
  void finish() {
    for (auto& entry : flags_) out_.flags.add(std::move(entry));
    for (auto& entry : overrides_) out_.overrides.add(std::move(entry));
  }
  [[nodiscard]] std::string value(std::string const& key) const {
    auto const at = std::find_if(flags_.begin(), flags_.end(), [&](auto const& e) { return e.key == key; });
    return at == flags_.end() || at->words.empty() ? std::string() : at->words.front();
  }

 private:
  [[nodiscard]] std::string place(shell_word const& word) const { return name_ + ":" + std::to_string(word.line); }
  void keep(std::vector<setting_entry>& among, setting_entry entry) {
    auto const [at, isnew] = where_.try_emplace({&among, entry.key}, among.size());
    if (isnew) return among.push_back(std::move(entry));
    if (among[at->second].words != entry.words)
      out_.unread.push_back("the first " + printable(entry.key) + ", which is given again at " + entry.place);
    among[at->second] = std::move(entry);
  }

  argument_lines& out_;
  std::string const& name_;
  std::vector<setting_entry> flags_, overrides_;
  std::map<std::pair<void const*, std::string>, std::size_t> where_;
};

/// Whether the name of a variable says that it holds flags: "${EXTRA_ARGS}".
[[nodiscard]] bool holds_flags(std::string_view word) {
  return is_unset(word) && has_part(word, {"ARGS", "EXTRA", "OPTS", "OPTIONS", "FLAGS", "OVERRIDES"});
}

/// Takes variables that stand in place of flags out of the words, so that they are no values of the flags before them.
void take_unset(shell_command& command, std::vector<shell_word>& unread) {
  std::vector<shell_word> kept;
  auto of_flag = false;
  for (auto& word : command.words) {
    auto const value = std::exchange(of_flag, word.text.starts_with("--") && word.text.find('=') == std::string::npos);
    ((!value && is_unset(word.text)) || holds_flags(word.text) ? unread : kept).push_back(std::move(word));
  }
  command.words = std::move(kept);
}

/// The flags that variables hold, for a file of flags alone or one that other scripts include.
[[nodiscard]] shell_command flags_of_variables(shell_script const& script) {
  shell_command out;
  std::vector<std::pair<std::size_t, shell_variable const*>> in_order;
  for (auto const& [name, variable] : script.variables) in_order.emplace_back(variable.line, &variable);
  std::sort(in_order.begin(), in_order.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  for (auto const& [line, variable] : in_order) {
    std::vector<shell_word> words;
    for (auto const& value : variable->words)
      for (auto first = value.find_first_not_of(" \t\r\n"); first != value.npos;) {
        auto const end = (std::min)(value.find_first_of(" \t\r\n", first), value.size());
        words.push_back({value.substr(first, end - first), line});
        first = value.find_first_not_of(" \t\r\n", end);
      }
    if (words.empty() || !is_flag(words.front().text)) continue;
    out.words.insert(out.words.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  }
  return out;
}

/// The text between the fences of a page, where there are some; all of it otherwise.
[[nodiscard]] std::string fenced(std::string_view text) {
  std::string out;
  auto inside = false, any = false;
  for (std::size_t at = 0; at < text.size();) {
    auto const end = (std::min)(text.find('\n', at), text.size());
    auto const line = text.substr(at, end - at);
    auto const first = (std::min)(line.find_first_not_of(" \t"), line.size());
    if (line.substr(first).starts_with("```")) {
      inside = !inside;
      any = true;
    } else if (inside) {
      out += line;
    }
    out += end < text.size() ? "\n" : "";
    at = end + 1;
  }
  return any ? out : std::string(text);
}

}  // namespace

argument_lines read_argument_lines(std::string_view text, std::string const& name) {
  auto script = read_shell_script(fenced(text), name);
  argument_lines out{
      .flags = setting_table(name), .overrides = setting_table(name), .commands = {}, .gpus = {}, .unread = {}, .documents = {}};
  std::map<std::string, std::string> said;  // of launchers
  shell_command batch;
  batch.words.push_back({"sbatch", 1});
  for (auto const& word : script.batch) batch.words.push_back({word, 1});
  strip_launcher(batch.words, said);

  std::vector<shell_command> commands;
  for (auto& command : script.commands) {
    auto const flags = std::any_of(command.words.begin(), command.words.end(), [](auto const& w) { return is_flag(w.text); });
    if (is_flag(command.words.front().text) && !commands.empty()) {  // a comment among continued lines ends the command for a shell alone
      auto& before = commands.back().words;
      before.insert(before.end(), std::make_move_iterator(command.words.begin()), std::make_move_iterator(command.words.end()));
    } else if (flags || work_of(command).what != work::other) {
      commands.push_back(std::move(command));
    }
  }
  auto unread = std::move(script.unread);
  shell_command const* chosen = nullptr;
  std::string instead;
  for (auto& command : commands) {
    auto const line = command.words.front().line;
    auto const kind = work_of(command);
    if (kind.what == work::none && instead.empty()) instead = "line " + std::to_string(line) + ": " + kind.sentence;
    if (kind.what != work::training) continue;
    if (chosen != nullptr) {
      std::string shown;
      for (std::size_t i = 0; i < command.words.size() && !is_flag(command.words[i].text) && i < 3; ++i)
        shown += " " + command.words[i].text;
      unread.push_back({"another training:" + shown, line});
      continue;
    }
    take_unset(command, unread);
    for (auto const& word : command.words)
      if (word.text.ends_with(".yaml") || word.text.ends_with(".yml"))
        unread.push_back({"the setting in " + printable(word.text), word.line});
    chosen = &command;
  }
  flag_reader reader(out, name);
  if (chosen != nullptr) {
    auto command = *chosen;
    for (auto const& [key, value] : command.environment) said[key] = value;
    strip_launcher(command.words, said);
    reader.add(command);
  } else {
    auto any = false;
    for (auto& command : commands) {
      if (is_tool(last_part(command.words.front().text)) || work_of(command).what == work::none) continue;
      take_unset(command, unread);
      for (auto const& [key, value] : command.environment) said[key] = value;
      reader.add(command);
      any = true;
    }
    if (!any && !instead.empty()) throw bad_input(name + ": " + instead + ", and no command of the script trains: judged are trainings");
    if (!any) {
      auto command = flags_of_variables(script);
      take_unset(command, unread);
      reader.add(command);
    }
  }
  for (auto const* const variable : {"NPROC_PER_NODE", "NNODES", "CUDA_VISIBLE_DEVICES"})
    if (auto const found = script.variables.find(variable);
        found != script.variables.end() && found->second.words.size() == 1 && !said.contains(variable))
      said[variable] = found->second.words.front();
  for (auto const* const key : {"nproc_per_node", "nnodes", "num_processes", "num_gpus", "num_nodes"})
    if (auto const value = reader.value(key); !value.empty()) said[key] = value;
  out.gpus = devices(said);
  std::sort(unread.begin(), unread.end(), [](auto const& a, auto const& b) { return std::tie(a.line, a.text) < std::tie(b.line, b.text); });
  for (auto const& w : unread) out.unread.push_back("line " + std::to_string(w.line) + ": " + printable(w.text));
  reader.finish();
  auto const swift = std::find(out.commands.begin(), out.commands.end(), "swift") != out.commands.end();
  if (swift && !out.flags.entries().empty())  // which spreads layers over the devices that one process sees
    for (auto const* const variable : {"NPROC_PER_NODE", "CUDA_VISIBLE_DEVICES"})
      if (auto const at = said.find(variable); at != said.end() && at->second.find('$') == std::string::npos)
        out.flags.add({.key = std::string("environment.") + variable, .words = {at->second}, .place = name});
  out.documents = std::move(script.documents);
  return out;
}

}  // namespace ballast_cli
