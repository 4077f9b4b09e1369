// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "commands/commands.hpp"

#include <string>

namespace CLI {
class App;
}

// The commands of the model side: partition, recompute and simulate.

namespace ballast_cli {

/// Holds what the commands were given; lives until the command line is parsed.
class model_commands {
 public:
  void add_to(CLI::App& app);

 private:
  partition_arguments partition_;
  recompute_arguments recompute_;
  simulate_arguments simulate_;
  std::string stages_, micro_batches_, memory_, budget_, schedule_ = "1f1b", chunks_, boundaries_, offload_, overlap_, bandwidth_;
};

}  // namespace ballast_cli
