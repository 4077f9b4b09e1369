// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

// One function per subcommand, in the file of its name: it says which options there are, and what is done when it is asked for. What is
// done returns when all is written, or throws what errors.hpp lists.

namespace ballast_cli {

/// `command_line` is what was typed, for the report.
void add_pack(CLI::App& app, std::string const& command_line);
/// `command_line` is what was typed, for the report.
void add_plan(CLI::App& app, std::string const& command_line);
void add_levels(CLI::App& app);
void add_calibrate(CLI::App& app);
void add_check(CLI::App& app, std::string const& command_line);
/// `command_line` is what was typed, for the report.
void add_capacities(CLI::App& app);
void add_memory(CLI::App& app);
void add_models(CLI::App& app);
void add_offload_plan(CLI::App& app);
void add_partition(CLI::App& app);
void add_recompute(CLI::App& app);
void add_simulate(CLI::App& app);
void add_shard(CLI::App& app);
void add_stats(CLI::App& app);
void add_generate(CLI::App& app);
/// `command_line` is what was typed, for the report.
void add_compare(CLI::App& app, std::string const& command_line);
void add_schedule(CLI::App& app);
/// `command_line` is what was typed, for the report.
void add_layout(CLI::App& app, std::string const& command_line);
/// `command_line` is what was typed, for the report.
void add_order(CLI::App& app, std::string const& command_line);
void add_experts(CLI::App& app);

/// Gives what all commands have been added with: the kind of each value, defaults, groups, and an example for each command.
void finish_help(CLI::App& app);

}  // namespace ballast_cli
