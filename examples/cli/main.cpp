// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "errors.hpp"
#include "nearest.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace ballast_cli;

namespace {

/// A value of nothing, as from a shell variable that is not set, is not what somebody meant by giving the option.
void refuse_empty_values(CLI::App& app) {
  for (auto* const command : app.get_subcommands([](CLI::App const*) { return true; }))
    for (auto* const option : command->get_options())
      if (option->get_items_expected_max() != 0)  // not a flag
        option->check([name = option->get_name()](std::string const& value) -> std::string {
          if (value.empty()) throw bad_input(name + " " + printable(value) + ": expected a value; leave the option out if there is none");
          return {};
        });
}

/// What is wrong with the words of a command line that cannot be parsed: a command or an option that there is not, or else what the parser
/// says.
[[nodiscard]] bad_input explained(CLI::App const& app, int argc, char** argv, CLI::ParseError const& fault) {
  std::vector<std::string> words;
  std::string const first = argc > 1 ? argv[1] : "";
  auto const* command = first.empty() || first[0] == '-' ? &app : nullptr;
  for (auto const* const known : app.get_subcommands([](CLI::App const*) { return true; })) {
    if (known->check_name(first)) command = known;
    words.push_back(known->get_name());
  }
  if (command == nullptr) {
    auto const hint = did_you_mean(first, words);
    return bad_input("ballast has no command " + printable(first) + (hint.empty() ? "; ballast --help lists what there is" : hint));
  }
  words.clear();
  std::set<std::string> given;
  for (auto const* const known : command->get_options()) words.push_back(known->get_name());
  auto const called = command == &app ? std::string() : " " + command->get_name();
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    auto const name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || name.size() == 2) continue;
    if (auto const* const known = command->get_option_no_throw(name); known != nullptr) {
      auto const again = !given.insert(name).second && known->get_items_expected_max() == 1;  // a flag has 0
      if (again) return bad_input(name + " is given twice; once is enough");
      continue;
    }
    auto const hint = did_you_mean(name, words);
    return bad_input("ballast" + called + " has no option " + printable(name) +
                     (hint.empty() ? "; ballast" + called + " --help lists what there is" : hint));
  }
  if (command == &app && argc < 2) return bad_input("a command is required; ballast --help lists them");
  auto const said = std::string_view(fault.what());
  constexpr std::string_view lacks = ": 1 required ", missing = " missing";
  if (auto const at = said.find(lacks); at != said.npos && said.ends_with(missing)) {
    auto const value = said.substr(at + lacks.size(), said.size() - at - lacks.size() - missing.size());
    return bad_input(std::string(said.substr(0, at)) + " needs a value: " + std::string(value));
  }
  if (fault.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    return bad_input("ballast" + called + " does not know what to do with " + printable(said.substr(said.rfind(": ") + 2)) + "; ballast" +
                     called + " --help lists what there is");
  return bad_input(std::string(said));
}

int run(int argc, char** argv) {
  CLI::App app("Plans packs, steps and pipeline stages, and proves how good the plans are.", "ballast");
  app.require_subcommand(1);
  app.set_version_flag("--version", "ballast " + std::to_string(ballast::version.major) + "." + std::to_string(ballast::version.minor) +
                                        "." + std::to_string(ballast::version.patch));
  app.get_formatter()->column_width(34);

  auto command_line = std::string("ballast");
  for (int i = 1; i < argc; ++i) command_line += std::string(" ") + argv[i];
  add_pack(app, command_line);
  add_plan(app, command_line);
  add_levels(app);
  add_calibrate(app);
  add_check(app, command_line);
  add_memory(app);
  add_models(app);
  add_capacities(app);
  add_partition(app);
  add_recompute(app);
  add_offload_plan(app);
  add_simulate(app);
  add_layout(app, command_line);
  add_order(app, command_line);
  add_experts(app);
  add_shard(app);
  add_stats(app);
  add_compare(app, command_line);
  add_schedule(app);
  add_generate(app);
  finish_help(app);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) throw explained(app, argc, argv, e);
    app.exit(e);
    if (!std::cout.flush()) throw cannot_write("standard output: cannot be written");
  }
  return exit_ok;
}

int fail(std::string const& sentence, int code) {
  (void)std::fprintf(stderr, "%s\n", sentence.c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (bad_input const& e) {
    return fail(e.what(), exit_bad_input);
  } catch (ballast::invalid_input const& e) {
    return fail(e.what(), exit_bad_input);
  } catch (no_plan const& e) {
    return fail(e.what(), exit_infeasible);
  } catch (doubtful const& e) {
    return fail(e.what(), exit_doubtful);
  } catch (cannot_write const& e) {
    return fail(e.what(), exit_failure);
  } catch (gpu_failure const& e) {
    return fail(e.what(), exit_failure);
  } catch (std::bad_alloc const&) {
    return fail("there is not enough memory for this input", exit_failure);
  } catch (std::exception const& e) {
    return fail(std::string("internal fault: ") + e.what(), exit_failure);
  }
}
