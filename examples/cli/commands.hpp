// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "lengths_reader.hpp"
#include "packers.hpp"

#include <ballast/plan/plan_data.hpp>

#include <cstdint>
#include <string>
#include <vector>

// One function per subcommand. Each returns when all is written, or throws what errors.hpp lists.

namespace ballast_cli {

struct input_arguments {
  std::vector<std::string> files;
  selection select;
};

struct pack_arguments {
  input_arguments input;
  ballast::packing_options options;
  ballast_cli::strategy strategy = strategy::bfd;
  std::string out;  ///< folder; empty: nothing is written
  bool json = false;
};
void run_pack(pack_arguments const& arguments);

struct plan_arguments {
  input_arguments input;
  ballast::data_plan_options options;
  std::string model = "llama-3.1-8b", device = "h100";
  double mfu = 0.4;
  std::string cost;     ///< file of measured times; empty: the model on the device
  std::string out;      ///< folder; empty: nothing is written
  std::string command;  ///< the command line, for the report
  bool json = false;
};
void run_plan(plan_arguments const& arguments);

struct calibrate_arguments {
  std::string file;
  bool json = false;
};
void run_calibrate(calibrate_arguments const& arguments);

struct check_arguments {
  input_arguments
      input;  ///< the first files are the packing: OFFSETS MEMBERS, a folder that `pack --out` wrote, or a list of indices a line
  ballast::packing_options options;
  bool json = false;
};
void run_check(check_arguments const& arguments);

struct stats_arguments {
  input_arguments input;
  bool json = false;
};
void run_stats(stats_arguments const& arguments);

struct generate_arguments {
  std::string like;
  std::uint64_t samples = 0;
  std::uint64_t seed = 0;
  std::string out;  ///< file; empty: standard output
  bool list = false;
};
void run_generate(generate_arguments const& arguments);

}  // namespace ballast_cli
