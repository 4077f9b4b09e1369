// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/distributions.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"

#include <charconv>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct generate_arguments {
  std::string like;
  std::uint64_t samples = 0;
  std::uint64_t seed = 0;
  std::string out;  ///< file; empty: standard output
  bool list = false;
};

[[nodiscard]] std::string list_of_distributions() {
  std::string text;
  for (auto const& d : distributions()) {
    text += std::string(d.name) + ": " + std::string(d.description) + "\n  columns:";
    for (auto const column : d.columns) (text += ' ') += column;
    text += "\n  source: " + std::string(d.source) + "\n";
  }
  return text;
}

[[nodiscard]] distribution const& distribution_named(std::string const& name) {
  std::string names;
  for (auto const& d : distributions()) {
    if (d.name == name) return d;
    names += (names.empty() ? "" : ", ") + std::string(d.name);
  }
  throw bad_input("--like " + printable(name) + ": no such distribution; there are " + names);
}

/// One sample a line, columns between blanks.
[[nodiscard]] std::string samples_of(generate_arguments const& arguments) {
  if (arguments.like.empty()) throw bad_input("generate: --like NAME --samples N is required; --list shows the names");
  auto const& like = distribution_named(arguments.like);
  auto const values = draw(like, arguments.samples, arguments.seed);
  auto const columns = like.columns.size();
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    char digits[24];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, values[i]).ptr) += (i + 1) % columns == 0 ? '\n' : ' ';
  }
  return text;
}

}  // namespace

void add_generate(CLI::App& app) {
  auto const arguments = std::make_shared<generate_arguments>();
  auto& command = *app.add_subcommand("generate", "draw lengths from a published distribution");
  auto* const like = command.add_option("--like", arguments->like, "name of the distribution");
  auto* const samples = add_value(command, "--samples", arguments->samples, positive, "how many to draw");
  like->needs(samples);
  samples->needs(like);
  add_value(command, "--seed", arguments->seed, from_0, "seed; another one draws other samples")->needs(like);
  command.add_option("--out", arguments->out, "file to write; standard output by default");
  command.add_flag("--list", arguments->list, "list the distributions, their columns and sources")->excludes(like);
  command.callback([arguments] {
    auto const text = arguments->list ? list_of_distributions() : samples_of(*arguments);
    arguments->out.empty() ? write_standard_output(text) : replace_file(arguments->out, text);
  });
}

}  // namespace ballast_cli
