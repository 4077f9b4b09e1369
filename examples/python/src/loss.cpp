// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <ballast/loss/label_counts.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/loss/token_weights.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"

namespace ballast_python {

namespace {

ballast::label_options labels_by(std::int64_t ignore, bool shifted) {
  return {.ignore = ignore, .shift = shifted ? ballast::label_shift::done : ballast::label_shift::in_model};
}

ballast::loss_totals totals_of(array_like const& argument, char const* name) {
  integers const words(argument, name);
  ballast::loss_totals out;
  ballast::require(words.size() == out.words.size(), [&] {
    return std::string(name) + " has " + std::to_string(words.size()) + " entries: it must be the sum of what loss_totals returned";
  });
  std::ranges::copy(words.range(), out.words.begin());
  return out;
}

}  // namespace

void bind_loss(nb::module_& m) {
  m.def(
      "loss_presets",
      [] {
        nb::list names;
        for (auto const& p : ballast::loss_presets) names.append(std::string(p.name));
        return names;
      },
      nb::sig("def loss_presets() -> list[str]"), "The names of what frameworks minimise, such as \"hf\" and \"verl-token-mean\".");
  m.def(
      "label_counts",
      [](array_like const& labels, array_like const& cu, std::int64_t ignore, bool shifted) {
        integers const given(labels, "labels");
        auto const bounds = integers(cu, "cu").copy();
        return array_of(given.visit([&](auto const& l) { return ballast::label_counts(l, bounds, labels_by(ignore, shifted)); }));
      },
      "labels"_a, "cu"_a, nb::kw_only(), "ignore"_a = -100, "shifted"_a = false,
      "The number of counted labels of each sequence of a row. `shifted` says that labels[t] is what position t predicts; if not, the\n"
      "model shifts, and the first label of a sequence never counts.");
  m.def(
      "loss_totals",
      [](array_like const& counts, std::string const& preset) {
        auto const words = ballast::loss_totals_of(integers(counts, "counts").copy(), ballast::loss_preset_named(preset).normaliser).words;
        return array_of(std::vector<std::int64_t>(words.begin(), words.end()));
      },
      "counts"_a, "preset"_a, "Five integers: the totals of some sequences. Ranks add them up (all-reduce) to those of the step.");
  m.def(
      "sequence_weights",
      [](array_like const& counts, array_like const& totals, std::string const& preset, std::int64_t ranks, std::int64_t context,
         std::int64_t micro_batches, std::int64_t length, optional_array const& part) {
        auto of = ballast::loss_preset_named(preset);
        of.normaliser.length = length;
        of.path.ranks = ranks;
        of.path.context = context;
        of.path.micro_batches = micro_batches;
        auto const given = integers(counts, "counts").copy();
        std::vector<double> out(given.size());
        ballast::loss_weights(given, totals_of(totals, "totals"), of.normaliser, of.path, out,
                              part.is_none() ? ballast::loss_totals{} : totals_of(nb::borrow<array_like>(part), "part"));
        return array_of(std::move(out));
      },
      "counts"_a, "totals"_a, "preset"_a, nb::kw_only(), "ranks"_a = 1, "context"_a = 1, "micro_batches"_a = 1, "length"_a = 0,
      "part"_a = nb::none(),
      "The factor of the sum of each sequence's token losses, so that the optimiser gets the gradient of the preset's loss, whatever\n"
      "the packing. `totals` are those of the step, `part` those of the rank or micro-batch if the preset takes means of them.\n"
      "`ranks`, `context` and `micro_batches` are what the framework averages over; `length` is that of presets with a fixed one.");
  m.def(
      "token_weights",
      [](array_like const& weights, array_like const& labels, array_like const& cu, std::int64_t ignore, bool shifted) {
        auto const each = numbers_of(weights, "weights");
        integers const given(labels, "labels");
        auto const bounds = integers(cu, "cu").copy();
        return array_of(given.visit([&](auto const& l) { return ballast::token_weights(each, l, bounds, labels_by(ignore, shifted)); }));
      },
      "weights"_a, "labels"_a, "cu"_a, nb::kw_only(), "ignore"_a = -100, "shifted"_a = false,
      "The weight of each label of a row, float32: that of its sequence if the label counts, otherwise 0.");
}

}  // namespace ballast_python
