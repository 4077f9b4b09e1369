// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <ballast/core/error.hpp>
#include <ballast/cost/presets.hpp>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "binders.hpp"
#include "errors.hpp"
#include "nearest.hpp"
#include "readers/model_config.hpp"
#include "readers/preset_names.hpp"

// The shapes of models by their configs and names, as the command line reads them.

namespace ballast_python {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::tuple<ballast::transformer, std::vector<std::string>, bool> shape_in(std::string const& text, std::string const& name) try {
  auto read = ballast_cli::read_model_config(text, name);
  return {read.language, std::move(read.notes), read.images.has_value() || !read.no_images.empty()};
} catch (ballast_cli::bad_input const& fault) {
  throw ballast::invalid_input(fault.what());
}

std::string unknown_model(std::string const& name) {
  std::vector<std::string_view> names;
  for (auto const& p : ballast::transformer_presets) {
    names.push_back(p.name);
    for (auto const other : ballast_cli::other_names(p.name)) names.push_back(other);
  }
  return name + " is neither a file nor the name of a known model" +
         ballast_cli::did_you_mean(std::string_view(name).substr(name.rfind('/') + 1), names);
}

}  // namespace

void bind_models(nb::module_& m) {
  m.def("read_config", &shape_in, "text"_a, "name"_a,
        "Of the text of a config.json: the shape of the language model, what was assumed, and whether it reads images or sound.");
  m.def("preset_of", &ballast_cli::preset_of, "name"_a,
        "The preset with the shape of a model on a hub, of whatever case and owner: \"llama-3.1-8b\" of "
        "\"meta-llama/Llama-3.1-8B-Instruct\"; None if there is none.");
  m.def("unknown_model", &unknown_model, "name"_a, "A sentence about a name that is no model's, with the nearest one.");
}

}  // namespace ballast_python
