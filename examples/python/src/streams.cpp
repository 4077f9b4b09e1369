// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/vector.h>
#include <ballast/streams/one_by_one.hpp>
#include <ballast/streams/outlier_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "binders.hpp"
#include "costs.hpp"

namespace ballast_python {

namespace {

using policy = ballast::outlier_stream<any_cost>;
using stream = ballast::one_by_one<policy>;

/// The state as integers: samples, steps, usual work, number that wait, number that are pending, then three lists.
std::vector<std::int64_t> words_of(stream const& s) {
  auto const& state = s.policy().state();
  auto const pending = s.pending();
  auto const number = [](auto n) { return static_cast<std::int64_t>(n); };
  std::vector<std::int64_t> out{number(state.samples), number(state.steps), state.usual, number(state.numbers.size()),
                                number(pending.size())};
  for (auto const n : state.numbers) out.push_back(number(n));
  for (auto const n : state.arrived) out.push_back(number(n));
  out.insert(out.end(), state.measures.begin(), state.measures.end());
  out.insert(out.end(), pending.begin(), pending.end());
  return out;
}

stream stream_of(std::int64_t capacity, std::uint64_t micro_batches, cost_argument const& cost, std::int64_t tokens, std::uint64_t deadline,
                 std::int64_t outlier, std::int64_t delay_price, std::vector<std::int64_t> const& words) {
  ballast::outlier_options const shape{
      .micro_batches = micro_batches, .capacity = {capacity}, .deadline = deadline, .tuning = {outlier, delay_price}};
  auto const work = cost_of(cost, capacity);
  ballast::require(!std::holds_alternative<length_table>(work.model) || std::cmp_less(capacity, std::get<length_table>(work.model)->size()),
                   [&] { return "cost lacks the costs of lengths up to capacity = " + std::to_string(capacity); });
  if (words.empty()) return stream(policy(shape, work), tokens);
  auto const n = words.size() < 5 || words[3] < 0 || words[4] < 0 ? 0 : static_cast<std::size_t>(words[3]);
  ballast::require(words.size() >= 5 && n < words.size() && words.size() == 5 + 3 * n + static_cast<std::size_t>(words[4]),
                   [] { return "the state is not one of a stream: give all that state() returned, or an older state"; });
  auto const all = std::span(words).subspan(5);
  ballast::outlier_state state{
      .samples = static_cast<std::uint64_t>(words[0]),
      .steps = static_cast<std::uint64_t>(words[1]),
      .usual = words[2],
      .numbers = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)},
      .arrived = {all.begin() + static_cast<std::ptrdiff_t>(n), all.begin() + static_cast<std::ptrdiff_t>(2 * n)},
      .measures = {all.begin() + static_cast<std::ptrdiff_t>(2 * n), all.begin() + static_cast<std::ptrdiff_t>(3 * n)}};
  return stream(policy(shape, work, std::move(state)), tokens, 1, all.subspan(3 * n));
}

nb::list numbers_of(ballast::stream_step const& step) {
  nb::list out;
  for (auto const group : step.micro_batches) {
    nb::list one;
    for (auto const n : group) one.append(n);
    out.append(one);
  }
  return out;
}

}  // namespace

void bind_streams(nb::module_& m) {
  nb::class_<stream>(m, "Stream", "What ballast.stream is made of.")
      .def(
          "push", [](stream& s, std::int64_t length) { s.push(length); }, "length"_a, "Takes the next sample.")
      .def("ready", &stream::ready, "Whether a step can be made.")
      .def(
          "pop", [](stream& s) { return numbers_of(s.pop()); }, nb::sig("def pop(self) -> list[list[int]]"),
          "Makes a step: the numbers of the samples of each micro-batch.")
      .def(
          "flush",
          [](stream& s) {
            nb::list out;
            for (auto const& step : s.flush()) out.append(numbers_of(step));
            return out;
          },
          nb::sig("def flush(self) -> list[list[list[int]]]"), "Makes steps of all that is left.")
      .def("words", &words_of, "The state.");
  m.def("make_stream", &stream_of, nb::kw_only(), "capacity"_a, "micro_batches"_a, "cost"_a.none(), "tokens"_a, "deadline"_a, "outlier"_a,
        "delay_price"_a, "words"_a, "Makes what ballast.stream is made of.");
}

}  // namespace ballast_python
