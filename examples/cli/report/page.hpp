// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/plan/figures.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The report of a plan: one HTML page without script, from plain figures.

namespace ballast_cli {

/// One way to train the data: naive, usual or planned.
struct report_plan {
  std::string name;  ///< "naive", "usual", "planned"
  std::string how;   ///< in a few words: "next fit in input order, dealt in order"
  std::uint64_t packs = 0;
  std::uint64_t steps = 0;
  double fill = 0;               ///< share of the places' capacity that holds tokens
  double idle = 0;               ///< share of rank time spent waiting
  double slowest_over_mean = 1;  ///< sum over steps of the slowest rank's cost over that of the mean
  double dbr = 0, abr = 0;
  double modelled_step_ms = 0;  ///< mean over steps
  double modelled_hours = 0;    ///< the whole epoch
  std::vector<double> loads;    ///< modelled milliseconds of each rank in each step, step after step; `steps * ranks` values

  // Of a plan with stages, whose times are simulated:
  bool fits = true;                   ///< in memory; if not, it has no times
  std::optional<double> bubble = {};  ///< share of the device-time that stages wait inside a pipeline; `idle` is the waiting of ranks
  double exchange = 0;                ///< share of the device-time in which devices wait for exchanges
};

/// The plan with these figures, whose loads are units of `ms_per_unit` milliseconds.
[[nodiscard]] report_plan row_of(std::string name, std::string how, ballast::plan_figures const& figures, double ms_per_unit);

/// A level of a plan in several.
struct report_level {
  std::uint64_t length = 0, sp = 1, recomputed_layers = 0;
  std::uint64_t ranks = 1, micro_batches = 1, packs = 0, steps = 0;
  double fill = 0, share = 0;  ///< of the capacity, of all tokens
};

/// A stage of a rank's pipeline.
struct report_stage {
  std::string layers;  ///< "layer 0 ... layer 7"
  std::uint64_t number = 0, recomputed = 0;
  double ms = 0;       ///< of a mean micro-batch
  double busy_ms = 0;  ///< in the step that is drawn
  std::uint64_t memory = 0, budget = 0;
};

/// A bar of a timeline.
struct report_task {
  enum kind : std::uint8_t { forward, recompute, backward, weight };
  std::uint32_t stage = 0;
  double start = 0, end = 0;  ///< milliseconds
  kind what = forward;
};

/// What something is made of, by stage: a stacked bar and a row of a table for each.
struct report_split {
  struct part {
    std::string name, style;        ///< "attention", "solid c4"
    std::vector<double> of_stages;  ///< in the unit; not negative
  };
  std::string id, heading;
  std::string unit;              ///< "ms", "GiB"
  std::string caption = {};      ///< sentences
  std::vector<part> parts = {};  ///< in the order of a bar; empty: it is not shown
};

/// The model side of a plan.
struct report_model {
  std::string schedule;  ///< "1f1b"
  std::vector<report_stage> stages;
  double work = 0, recompute = 0, exchange = 0, optimizer = 0, bubble = 0, waiting = 0;  ///< shares of the device-time
  std::uint64_t step = 0, rank = 0, micro_batches = 0;                                   ///< what is drawn
  double step_ms = 0, step_waits = 0;                                                    ///< its time, and the share of it that stages wait
  std::vector<report_task> tasks;
  std::vector<std::string> notes;         ///< sentences
  std::string megatron;                   ///< options of Megatron-LM
  std::vector<report_split> splits = {};  ///< of time and memory
};

/// A pack that is drawn.
struct report_pack {
  static constexpr std::size_t most = 160;  ///< blocks; if there are more samples, the last block is all others
  std::uint64_t number = 0;                 ///< in the plan
  std::vector<std::uint64_t> tokens{};      ///< of its blocks, in their order
  std::uint64_t samples = 0;
};

/// What the page shows.
struct report_data {
  std::string title;            ///< the files
  std::string what = "a plan";  ///< what the page reports of
  std::uint64_t samples = 0, tokens = 0, capacity = 0, ranks = 1, micro_batches = 1;
  std::string model, device;             ///< "llama-3.1-8b", "h100 at 40 % of its dense bfloat16 peak"
  std::vector<std::uint64_t> bin_edges;  ///< of the length histogram: bins + 1 ascending lengths
  std::vector<std::uint64_t> bin_samples, bin_tokens;
  std::vector<report_plan> plans;   ///< naive, usual, planned; the last is the plan
  double single_sample_bound = 1;   ///< no plan's slowest_over_mean is below this
  std::uint64_t pack_bound = 0;     ///< no plan has fewer packs
  std::string pack_bound_by;        ///< "volume"
  std::vector<std::string> limits;  ///< sentences: which bound, which samples limit the plan
  std::string command;              ///< the command line that made the page

  // Of a plan in several levels, whose ranks are counted in GPUs:
  std::vector<report_level> levels = {};  ///< by length; empty: there is one capacity, and what follows is not shown
  std::vector<std::uint32_t> order = {};  ///< level of each step, in training order
  std::string curriculum = {};            ///< name of the order
  std::uint64_t warm_up = 0;              ///< steps that it begins with, all of the shortest level
  std::uint64_t switches = 0;             ///< how often a step has another level than the one before it

  std::optional<report_model> model_side = {};  ///< of a plan with stages

  std::string lead = {};                     ///< what is said first of packs without steps; empty: of plans
  std::vector<report_pack> some_packs = {};  ///< evenly spaced in the plan; empty: not shown
};

/// The page, complete and self-contained.
[[nodiscard]] std::string render_report(report_data const& data);

}  // namespace ballast_cli
