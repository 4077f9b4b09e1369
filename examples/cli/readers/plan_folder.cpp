// SPDX-License-Identifier: Apache-2.0
#include "readers/plan_folder.hpp"

#include "errors.hpp"
#include "readers/file_bytes.hpp"
#include "readers/json_document.hpp"
#include "readers/packing.hpp"
#include "report/packing.hpp"
#include "report/plan_folder.hpp"

#include <ballast/core/hash.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

/// A member of plan.json that is a whole number.
[[nodiscard]] std::uint64_t whole(nlohmann::json const& plan, char const* key, std::string const& name) {
  auto const found = plan.find(key);
  if (found == plan.end() || !found->is_number_unsigned()) throw bad_input(name + ": " + key + " is missing or not a whole number from 0");
  return found->get<std::uint64_t>();
}

/// The hash of the plan, which no reader can compute where packs were dropped.
[[nodiscard]] std::uint64_t hash_of_plan(nlohmann::json const& plan, std::string const& name) {
  auto const found = plan.find("hash");
  std::uint64_t hash = 0;
  if (found != plan.end() && found->is_string()) {
    auto const& digits = found->get_ref<std::string const&>();
    auto const* const end = digits.data() + digits.size();
    if (digits.size() == 16 && std::from_chars(digits.data(), end, hash, 16).ptr == end) return hash;
  }
  throw bad_input(name + ": hash is missing or not of 16 hexadecimal digits; write the plan again");
}

[[nodiscard]] std::string shape_in_words(std::span<std::size_t const> shape) {
  std::string text;
  for (auto const extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

/// Reads an array of the shape that plan.json says, or with more in its last extent where it may grow, and adds its entries to the hash.
/// Returns the last extent.
std::uint64_t append_array(ballast::fnv1a& hash, std::string const& folder, std::string const& file, std::vector<std::size_t> shape,
                           bool grows, std::vector<std::uint64_t>* entries = nullptr) {
  file_bytes const bytes(folder + "/" + file);
  npy_view const in(bytes.view(), folder + "/" + file, shape.size());
  if (grows && in.shape().size() == shape.size()) shape.back() = (std::max)(shape.back(), in.shape().back());
  if (in.shape() != shape)
    throw bad_input(folder + ": is not a complete plan: " + file + " is of shape " + shape_in_words(in.shape()) + ", and plan.json says " +
                    shape_in_words(shape));
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto const empty = in.is_negative(i) && in[i] == (std::numeric_limits<std::uint64_t>::max)();
    if (!empty && in[i] >= ballast::batching<>::none)
      throw bad_input(folder + "/" + file + ": entry " + std::to_string(i) + " is " + in.text(i) + ", and not -1 or from 0 to 2^32-2");
    auto const entry = static_cast<std::uint32_t>(in[i]);
    hash.append(entry);
    if (entries != nullptr) entries->push_back(entry == ballast::batching<>::none ? ballast::batching<std::uint64_t>::none : entry);
  }
  return shape.back();
}

/// A list of samples in plan.json, ascending; missing if it is empty.
[[nodiscard]] std::vector<std::uint64_t> list_of_samples(nlohmann::json const& plan, char const* key, std::string const& name) {
  std::vector<std::uint64_t> out;
  auto const found = plan.find(key);
  if (found == plan.end()) return out;
  auto const refuse = [&](std::string const& why) {
    return bad_input(name + ": " + key + why + "; write the plan again with ballast plan");
  };
  if (!found->is_array()) throw refuse(" is not a list of samples");
  for (auto const& entry : *found) {
    auto const place = "[" + std::to_string(out.size()) + "]";
    if (!entry.is_number_unsigned()) throw refuse(place + " is not a whole number from 0");
    auto const sample = entry.get<std::uint64_t>();
    if (!out.empty() && sample < out.back()) throw refuse(place + " = " + std::to_string(sample) + " is below the entry in front of it");
    out.push_back(sample);
  }
  return out;
}

}  // namespace

void require_known_format(nlohmann::json const& plan, std::string const& name) {
  auto const format = plan.find("schema");
  if (format == plan.end() || !format->is_number_integer())
    throw bad_input(name + ": says no version of its format (schema); it is not a plan.json of ballast");
  if (*format < 1) throw bad_input(name + ": is of format " + format->dump() + ", and formats count from 1");
  if (*format > plan_format)
    throw bad_input(name + ": is of format " + format->dump() + ", and this ballast reads formats up to " + std::to_string(plan_format) +
                    "; read it with a newer ballast, or write the plan again with this one");
}

std::string capacity_in_folder(std::string const& folder) {
  std::error_code error;
  auto const name = folder + "/plan.json";
  if (!std::filesystem::exists(name, error)) return {};
  file_bytes const text(name);
  auto const plan = parse_document(text.view(), name);
  auto const capacity = plan.is_object() ? plan.value("capacity", nlohmann::json()) : nlohmann::json();
  if (capacity.is_number_unsigned()) return capacity.dump();
  std::string out;
  for (auto const& each : capacity.is_array() ? capacity : nlohmann::json::array()) out += (out.empty() ? "" : ",") + each.dump();
  return out;
}

plan_in_folder read_plan_folder(std::string const& folder) {
  namespace fs = std::filesystem;
  auto const incomplete = [&](std::string const& why) { return bad_input(folder + ": is not a complete plan: " + why); };
  auto const present = [&](std::string const& file) {
    std::error_code error;
    return fs::exists(folder + "/" + file, error);
  };
  auto const name = folder + "/plan.json";
  if (!present("plan.json")) throw incomplete("plan.json is missing");
  file_bytes const text(name);
  auto const plan = parse_document(text.view(), name);
  if (!plan.is_object()) throw bad_input(name + ": not a JSON object" + json_slip(text.view(), name));
  require_known_format(plan, name);
  auto const strategy = plan.value("strategy", nlohmann::json());
  auto const levels = strategy == "levels", steps = levels || strategy == "plan";
  auto const of_pack = !steps;  // which has written the page since version 0.2
  auto const options = plan.value("options", nlohmann::json());
  auto const flag = [&](char const* key) { return options.is_object() && options.value(key, nlohmann::json()) == true; };
  for (auto const& [file, of_plan] : {std::pair<std::string, bool>{"offsets.npy", true},
                                      {"members.npy", true},
                                      {"steps.npy", steps},
                                      {"report.html", steps || (of_pack && present("report.html"))},
                                      {"cu_seqlens.npy", flag("static")},
                                      {"cu_seqlens_padded.npy", flag("static")},
                                      {"levels.npy", levels}}) {
    if (of_plan && !present(file)) throw incomplete(file + " is missing");
    if (!of_plan && present(file)) throw incomplete("its plan.json does not know of " + file);
  }

  plan_in_folder out;
  out.steps.dropped = list_of_samples(plan, "dropped", name);
  out.steps.repeated = list_of_samples(plan, "repeated", name);
  if (out.left_over() && strategy != "plan")
    throw bad_input(name + ": lists dropped or repeated samples, which only plans of one capacity have; write the plan again");
  if (!out.steps.dropped.empty() && !out.steps.repeated.empty())
    throw bad_input(name + ": lists dropped and repeated samples, and a plan has those of one --left-over; write the plan again");

  out.padded = flag("padded");
  if (options.is_object()) {
    constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    auto const multiple = options.contains("multiple") ? whole(options, "multiple", name) : 1;
    if (multiple == 0 || multiple > most) throw bad_input(name + ": multiple must be from 1 to 2^63-1; write the plan again");
    out.multiple = static_cast<std::int64_t>(multiple);
    if (options.contains("max_items")) out.max_items = whole(options, "max_items", name);
  }

  file_bytes const offsets(folder + "/offsets.npy"), members(folder + "/members.npy");
  auto& packs = out.steps.packs;
  packs = {read_indices(offsets.view(), folder + "/offsets.npy"), read_indices(members.view(), folder + "/members.npy")};
  auto const count = whole(plan, "packs", name);
  if (packs.offsets.empty() || packs.offsets.size() - 1 != count)
    throw incomplete("offsets.npy has " + std::to_string(packs.offsets.size()) + " entries, and plan.json says that there are " +
                     std::to_string(count) + " packs");
  if (packs.offsets.back() != packs.members.size())
    throw incomplete("offsets.npy ends with " + std::to_string(packs.offsets.back()) + ", and members.npy has " +
                     std::to_string(packs.members.size()) + " entries");
  ballast::fnv1a hash;
  for (auto const offset : packs.offsets) hash.append(offset);
  for (auto const member : packs.members) hash.append(member);
  auto const model = plan.value("model_plan", nlohmann::json());
  if (steps) {  // a rank of stages may have more micro-batches than were asked for on average
    out.steps.ranks = whole(plan, levels ? "gpus" : "ranks", name);
    out.steps.micro_batches =
        append_array(hash, folder, "steps.npy", {whole(plan, "steps", name), out.steps.ranks, whole(plan, "micro_batches", name)},
                     !model.is_null(), &out.steps.table);
  }
  if (model.is_object())
    for (auto const& stage : model.value("stage_of", nlohmann::json::array()))
      if (stage.is_number_unsigned()) out.stages = (std::max)(out.stages, stage.get<std::uint64_t>() + 1);
  if (levels) append_array(hash, folder, "levels.npy", {whole(plan, "steps", name)}, false);
  auto const old = plan["schema"] == 1;  // whose `hash` is that of the files
  if (auto const said = plan.value(old ? "hash" : "files_hash", nlohmann::json()), digits = nlohmann::json(hash_digits(hash.value()));
      said != digits)
    throw bad_input(folder + ": its files are not of one plan: the arrays have hash " + digits.get<std::string>() +
                    ", and plan.json says " + printable(said.dump()));
  if (!old) out.hash = hash_of_plan(plan, name);
  std::vector<bool> placed(packs.size());
  for (auto const p : out.steps.table) {
    if (p == out.steps.none) continue;
    if (p >= packs.size())
      throw incomplete("steps.npy names pack " + std::to_string(p) + ", and there are " + std::to_string(packs.size()));
    if (placed[p] && !levels) throw incomplete("pack " + std::to_string(p) + " is in two places of steps.npy");
    placed[p] = true;
  }
  if (auto const missing = std::find(placed.begin(), placed.end(), false); steps && missing != placed.end())
    throw incomplete("pack " + std::to_string(missing - placed.begin()) + " is in no place of steps.npy");
  if (levels) out.steps.table.clear();
  return out;
}

}  // namespace ballast_cli
