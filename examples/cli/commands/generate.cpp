// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "planning/distributions.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"

#include <charconv>

namespace ballast_cli {

void run_generate(generate_arguments const& arguments) {
  std::string text;
  if (arguments.list) {
    for (auto const& d : distributions()) {
      text += std::string(d.name) + ": " + std::string(d.description) + "\n  columns:";
      for (auto const column : d.columns) (text += ' ') += column;
      text += "\n  source: " + std::string(d.source) + "\n";
    }
  } else {
    distribution const* like = nullptr;
    std::string names;
    for (auto const& d : distributions()) {
      if (d.name == arguments.like) like = &d;
      names += (names.empty() ? "" : ", ") + std::string(d.name);
    }
    if (like == nullptr) throw bad_input("--like " + printable(arguments.like) + ": no such distribution; there are " + names);
    auto const values = draw(*like, arguments.samples, arguments.seed);
    auto const columns = like->columns.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      char digits[24];
      text.append(digits, std::to_chars(digits, digits + sizeof digits, values[i]).ptr) += (i + 1) % columns == 0 ? '\n' : ' ';
    }
  }
  if (arguments.out.empty()) return write_standard_output(text);
  replace_file(arguments.out, text);
}

}  // namespace ballast_cli
