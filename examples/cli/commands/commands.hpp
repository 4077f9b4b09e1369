// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/backend.hpp"
#include "planning/level_request.hpp"
#include "planning/packers.hpp"
#include "readers/lengths.hpp"

#include <ballast/cost/schedule.hpp>
#include <ballast/plan/plan_data.hpp>

#include <cstdint>
#include <optional>
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
  ballast::packing_options options;    ///< for one measure
  std::vector<std::int64_t> capacity;  ///< one per measure
  ballast_cli::strategy strategy = strategy::automatic;
  ballast_cli::backend backend = backend::host;
  std::uint64_t ranks = 0;  ///< packs are put in an order in which so many make a step; 0: they stay as the packer left them
  std::string model;        ///< whose modelled time orders them, with ranks; empty: their tokens do
  std::string out;          ///< folder; empty: nothing is written
  bool json = false;
};
/// Packs one measure or hands over to `run_pack_measures`.
void run_pack(pack_arguments const& arguments);
void run_pack_measures(pack_arguments const& arguments, table const& input, double read_seconds);

struct capacities_arguments {
  input_arguments input;
  std::uint64_t ranks = 8;
  bool json = false;
};
void run_capacities(capacities_arguments const& arguments);

/// The model side of a plan.
struct model_arguments {
  std::uint64_t stages = 0;            ///< of a rank's pipeline; 0: the data alone are planned
  std::optional<std::int64_t> memory;  ///< bytes of a device; none: those of the datasheet
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  std::int64_t tensor = 1;  ///< tensor-parallel devices of a stage
  int zero = 0;             ///< ZeRO stage
  std::string layers;       ///< file of layers, in milliseconds of a full micro-batch; empty: the model's
};

struct plan_arguments {
  input_arguments input;
  ballast::data_plan_options options;
  std::string model = "llama-3.1-8b", device = "h100";
  std::optional<double> mfu;                           ///< none: 0.4 or, with levels, what the model of times was fitted with
  std::string cost;                                    ///< file of measured times; empty: the model on the device
  double step_overhead_ms = 0;                         ///< that samples do not account for
  std::optional<double> micro_batch_overhead_ms = {};  ///< the same; what the fitted cost says if not given
  std::string levels;                                  ///< auto, hbp or a file; empty: one capacity
  model_arguments model_side;
  std::string curriculum = "hbp";  ///< order of the steps of several levels
  std::uint32_t gpus = 1;          ///< of the run, where there are levels
  std::string out;                 ///< folder; empty: nothing is written
  std::string command;             ///< the command line, for the report
  bool json = false;
};
/// Plans one capacity or hands over to `run_plan_levels`.
void run_plan(plan_arguments const& arguments);
void run_plan_levels(plan_arguments const& arguments);

struct levels_arguments {
  input_arguments input;
  level_request request;
  std::int64_t max_length = 0;
  std::uint64_t max_levels = usual_levels;  ///< of the exact choice
  ballast::oversize oversize = ballast::oversize::reject;
  level_rule rule = level_rule::exact;
  bool json = false;
};
void run_levels(levels_arguments const& arguments);

struct calibrate_arguments {
  std::string file;
  bool json = false;
};
void run_calibrate(calibrate_arguments const& arguments);

struct check_arguments {
  input_arguments
      input;  ///< the first files are the packing: OFFSETS MEMBERS, a folder that `pack --out` wrote, or a list of indices a line
  ballast::packing_options options;    ///< for one measure
  std::vector<std::int64_t> capacity;  ///< one per measure
  bool json = false;
};
void run_check(check_arguments const& arguments);

/// What a layer may do with what it keeps: nothing, recompute, or send it to the host.
struct offload_arguments {
  std::int64_t bytes_per_1 = 0;  ///< bytes that the link to the host moves in 1 of the file's unit of time; 0: there is no link
  std::int64_t overlap = 0;      ///< percent of the compute time under which transfers hide
};

struct partition_arguments {
  std::string file;
  std::uint64_t stages = 1;
  std::uint64_t micro_batches = 0;     ///< 0: memory is not looked at
  std::optional<std::int64_t> memory;  ///< bytes of a stage; none: nothing is recomputed
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  offload_arguments offload;
  bool json = false;
};
void run_partition(partition_arguments const& arguments);

struct recompute_arguments {
  std::string file;
  std::int64_t budget = 0;
  offload_arguments offload;
  bool json = false;
};
void run_recompute(recompute_arguments const& arguments);

struct simulate_arguments {
  std::string file;
  std::uint64_t stages = 1, micro_batches = 1;
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  std::vector<std::uint64_t> boundaries;  ///< of the chunks; none: an exact cut
  std::optional<std::int64_t> memory;     ///< bytes of a stage; none: nothing is recomputed
  std::int64_t bytes_per_1 = 0;           ///< bytes between stages in 1 of the file's unit of time; 0: they take no time
  bool json = false;
};
void run_simulate(simulate_arguments const& arguments);

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
