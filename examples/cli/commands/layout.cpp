// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "readers/buffers.hpp"
#include "readers/file_bytes.hpp"
#include "report/html.hpp"
#include "report/json.hpp"
#include "report/memory.hpp"
#include "report/output.hpp"
#include "report/progress.hpp"
#include "report/replace.hpp"
#include "report/words.hpp"

#include <ballast/memory/buffer_addresses.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct layout_arguments {
  std::string file;
  std::int64_t capacity = 0;  ///< 0: as low as possible
  std::uint64_t work = 2'000'000'000, seed = 0;
  bool fast = false, json = false;
  std::string out, svg, report, command_line;
};

struct timed_layout {
  ballast::memory_layout layout;
  double ms = 0;
};

template <class Plan>
[[nodiscard]] timed_layout timed(Plan const& plan) {
  auto const begin = std::chrono::steady_clock::now();
  auto layout = plan();
  return {std::move(layout), std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count()};
}

/// The layout that was asked for, and what most programs would do.
struct planned_layout {
  timed_layout ours, first_fit;
  std::int64_t max_load = 0;
};

[[nodiscard]] planned_layout plan(layout_arguments const& arguments, std::vector<ballast::buffer> const& buffers) {
  planned_layout out;
  out.max_load = ballast::max_load(buffers);
  out.first_fit = timed([&] { return ballast::first_fit_layout(buffers); });
  auto const& naive = out.first_fit.layout;
  out.ours = timed([&] {
    progress_line progress("searching for a layout");
    auto planned = arguments.fast ? ballast::layout_buffers_quickly(buffers)
                                  : ballast::layout_buffers(buffers, {.capacity = arguments.capacity, .seed = arguments.seed},
                                                            {.work = arguments.work, .progress = progress});
    if (planned.status != ballast::status::feasible || naive.height.value >= planned.height.value) return planned;
    planned.height.value = naive.height.value;
    planned.offsets = naive.offsets;
    return planned;
  });
  return out;
}

/// Throws no_plan where there is no layout within the capacity, or none was found.
void require_layout(layout_arguments const& arguments, buffer_table const& table, planned_layout const& planned) {
  auto const name = shown_name(arguments.file);
  auto const& ours = planned.ours.layout;
  auto const bound = many_bytes(ours.height.lower_bound);
  if (ours.bound == ballast::layout_bound::fixed_addresses)
    throw no_plan(name + ": two buffers that are in use at the same time overlap at their fixed addresses, so there is no layout");
  auto const over = arguments.capacity > 0 && ours.height.value > arguments.capacity;
  if (ours.status == ballast::status::feasible && !over) return;
  if (ours.status == ballast::status::infeasible || (arguments.capacity > 0 && ours.height.lower_bound > arguments.capacity))
    throw no_plan(name + ": no layout takes " + many_bytes(arguments.capacity) + " or less: every one takes at least " + bound +
                  " (proof: " + std::string(to_string(ours.bound)) + ")");
  auto const found = over ? ours.height.value : ballast::layout_buffers_quickly(table.buffers).height.value;
  throw no_plan(name + ": no layout within " + many_bytes(arguments.capacity) +
                " was found, and none is proven impossible: the best found takes " + many_bytes(found) + ", and none takes less than " +
                bound + "; a larger --work or another --seed may find one");
}

[[nodiscard]] double excess(std::int64_t height, std::int64_t over) {
  return over == 0 ? 0.0 : static_cast<double>(height - over) / static_cast<double>(over);
}

/// How far the layout may be from the best one.
[[nodiscard]] std::string quality(ballast::memory_layout const& layout) {
  auto const& h = layout.height;
  auto const bound = "(proof: " + std::string(to_string(layout.bound)) + ")";
  if (h.optimal()) return "no layout takes less " + bound;
  return "no layout takes less than " + many_bytes(h.lower_bound) + " " + bound + ": at most " + percent_up(h.gap()) +
         " above the best possible";
}

[[nodiscard]] std::string in_words(layout_arguments const& arguments, buffer_table const& table, planned_layout const& planned) {
  auto const& ours = planned.ours.layout;
  auto const& naive = planned.first_fit.layout;
  auto text = shown_name(arguments.file) + ": " + counted(table.buffers.size(), "buffer") + ", at most " + many_bytes(planned.max_load) +
              " in use at one time.\n" + "The layout takes " + many_bytes(ours.height.value);
  if (arguments.capacity > 0) text += ", which fits in " + many_bytes(arguments.capacity);
  text += "; " + quality(ours) + ".\n";
  if (naive.status == ballast::status::feasible)
    text += "First fit, the largest first, takes " + many_bytes(naive.height.value) + ", " +
            percent(excess(naive.height.value, ours.height.value)) + " more.\n";
  if (!arguments.out.empty()) text += "Addresses are in " + arguments.out + ".\n";
  return text + "Planned in " + duration(planned.ours.ms) + "; first fit takes " + duration(planned.first_fit.ms) + ".\n";
}

[[nodiscard]] nlohmann::ordered_json to_json(layout_arguments const& arguments, buffer_table const& table, planned_layout const& planned) {
  auto const& ours = planned.ours.layout;
  nlohmann::ordered_json json{{"buffers", table.buffers.size()}, {"max_load", planned.max_load}};
  if (arguments.capacity > 0) json["capacity"] = arguments.capacity;
  json.update({{"height", ours.height.value},
               {"lower_bound", ours.height.lower_bound},
               {"gap", ours.height.gap()},
               {"optimal", ours.height.optimal()},
               {"bound", to_string(ours.bound)},
               {"first_fit", planned.first_fit.layout.height.value},
               {"offsets", ours.offsets},
               {"seconds", {{"plan", planned.ours.ms * 1e-3}, {"first_fit", planned.first_fit.ms * 1e-3}}}});
  return json;
}

[[nodiscard]] layout_drawing drawing_of(layout_arguments const& arguments, buffer_table const& table,
                                        ballast::memory_layout const& layout) {
  layout_drawing out{
      .title = shown_name(arguments.file), .time = "time", .boxes = {}, .height = layout.height.value, .capacity = arguments.capacity};
  for (std::size_t i = 0; i < table.buffers.size(); ++i) {
    auto const& b = table.buffers[i];
    out.boxes.push_back({b.lower, b.upper, layout.offsets[i], b.size, table.names[i]});
  }
  return out;
}

[[nodiscard]] std::string report_page(layout_arguments const& arguments, buffer_table const& table, planned_layout const& planned) {
  auto const& ours = planned.ours.layout;
  auto const& naive = planned.first_fit.layout;
  auto drawing = drawing_of(arguments, table, ours);
  drawing.scale = (std::max)(ours.height.value, naive.height.value);
  memory_page page{
      .what = "a layout of memory",
      .title = shown_name(arguments.file),
      .lead = counted(table.buffers.size(), "buffer") + " in " + short_bytes(ours.height.value) + "; " + quality(ours) + ".",
      .command = arguments.command_line,
      .tiles = {{"height of the layout", short_bytes(ours.height.value), many_bytes(ours.height.value)},
                {"in use at one time", short_bytes(planned.max_load), "at most; " + many_bytes(planned.max_load)},
                {"distance to the bound", percent_up(ours.height.gap()), ours.height.optimal() ? "optimal" : "no layout is below it"},
                {"first fit", short_bytes(naive.height.value), percent(excess(naive.height.value, ours.height.value)) + " more"},
                {"planning", duration(planned.ours.ms), "first fit: " + duration(planned.first_fit.ms)}},
      .figures = {},
      .notes = {}};
  auto const caption =
      "A box is a buffer: as wide as it is in use, as high as its bytes, coloured by size. The curve is the sum of all in use: what "
      "lies between it and the top of the boxes is lost to fragmentation. " +
      layout_omission(drawing);
  page.figures = html::figure("Where the buffers lie", "<div class=\"wide\">" + layout_picture(drawing, false) + "</div>", caption);
  if (naive.height.value > ours.height.value) {
    auto other = drawing_of(arguments, table, naive);
    other.title += " by first fit";
    other.scale = drawing.scale;
    page.figures += html::figure("First fit, the largest first", "<div class=\"wide\">" + layout_picture(other, false) + "</div>",
                                 "The same buffers as most programs would place them: " + short_bytes(naive.height.value) + ".");
  }
  return page_of(page);
}

void run(layout_arguments const& arguments) {
  file_bytes const file(arguments.file);
  auto const table = read_buffers(file.view(), shown_name(arguments.file));
  auto const planned = plan(arguments, table.buffers);
  require_layout(arguments, table, planned);
  file_set files;
  if (!arguments.out.empty()) files.add(arguments.out, buffers_csv(table, planned.ours.layout.offsets));
  if (!arguments.svg.empty()) files.add(arguments.svg, layout_picture(drawing_of(arguments, table, planned.ours.layout), true) + "\n");
  if (!arguments.report.empty()) files.add(arguments.report, report_page(arguments, table, planned));
  files.commit();
  if (arguments.json) return print_json(to_json(arguments, table, planned));
  write_standard_output(in_words(arguments, table, planned));
}

}  // namespace

void add_layout(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<layout_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("layout", "give buffers addresses so that memory is small, or fits a capacity");
  command.add_option("BUFFERS", arguments->file, "CSV of buffers with a header: id, lower, upper and size; - is standard input")
      ->required();
  add_value(command, "--capacity", arguments->capacity, some_bytes,
            "bytes that the layout may take, Ki, Mi or Gi allowed; as few as possible by default");
  command.add_option("--out", arguments->out, "CSV file for the buffers with their addresses");
  command.add_option("--svg", arguments->svg, "file for a picture of the layout");
  command.add_option("--report", arguments->report, "file for a page with figures and pictures");
  auto* const fast = command.add_flag("--fast", arguments->fast, "take the best of five greedy layouts, without search");
  add_value(command, "--work", arguments->work, positive,
            "operations that the search may take, about a nanosecond each; 2000000000 by default")
      ->excludes(fast);
  add_value(command, "--seed", arguments->seed, from_0, "seed of the search")->excludes(fast);
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
