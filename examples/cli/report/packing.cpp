// SPDX-License-Identifier: Apache-2.0
#include "report/packing.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

namespace ballast_cli {

std::string hash_digits(std::uint64_t hash) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[(hash >> shift) & 15U];
  return text;
}

nlohmann::ordered_json to_json(packing_report const& r) {
  auto const packs = static_cast<std::uint64_t>(r.packs.value);
  nlohmann::ordered_json json{{"samples", r.samples},     {"tokens", r.tokens},
                              {"capacity", r.capacity},   {"strategy", r.strategy},
                              {"packs", packs},           {"lower_bound", r.packs.lower_bound},
                              {"gap", r.packs.gap()},     {"optimal", r.packs.optimal()},
                              {"fill", r.fill(packs)},    {"hash", nullptr},
                              {"set_aside", r.set_aside}, {"naive", {{"packs", r.naive_packs}, {"fill", r.fill(r.naive_packs)}}}};
  if (!r.zero_length.empty()) json["zero_length"] = r.zero_length;
  if (r.padding) json["padding"] = *r.padding;
  if (r.fixed) json["static"] = r.fixed->json;
  if (r.hash) json["hash"] = hash_digits(*r.hash);
  if (r.in_ranks) json["rank_dist"] = {r.in_ranks->distance};
  if (r.in_ranks && r.in_ranks->modelled_idle) {
    json["model"] = r.in_ranks->model;
    json["modelled_idle"] = *r.in_ranks->modelled_idle;
  }
  return json;
}

std::string in_words(packing_report const& r, std::string const& title) {
  auto const packs = static_cast<std::uint64_t>(r.packs.value);
  auto const bound = static_cast<std::uint64_t>(r.packs.lower_bound);
  auto const capacity = static_cast<std::uint64_t>(r.capacity);
  auto text = title + ": " + counted(r.samples - r.set_aside.size() - r.dropped, "sample") + ", " +
              counted(static_cast<std::uint64_t>(r.tokens), "token") + " in " + counted(packs, "pack") + " of " + grouped(capacity) +
              "; packs are " + percent(r.fill(packs)) + " full.\n";
  if (r.naive_packs != 0) {
    text += "Next fit in input order, the naive way, takes " + counted(r.naive_packs, "pack") + ", " + percent(r.fill(r.naive_packs)) +
            " full: ";
    if (packs < r.naive_packs)
      text += "this plan saves " + percent(static_cast<double>(r.naive_packs - packs) / static_cast<double>(r.naive_packs)) + " of them.\n";
    else
      text += packs == r.naive_packs ? "no difference.\n" : "this plan takes " + grouped(packs - r.naive_packs) + " more.\n";
  }
  if (packs != 0 && r.packs.optimal())
    text += "No plan can take fewer packs (proof: " + r.bound + " bound): this one is optimal.\n";
  else if (packs != 0)
    text += "No plan can take fewer than " + counted(bound, "pack") + " (proof: " + r.bound + " bound): this one is at most " +
            percent_up(r.packs.gap()) + " above the best possible.\n";
  if (r.padding && r.tokens != 0)
    text += "Rows are padded to the longest of their batch: " +
            percent(static_cast<double>(*r.padding) / static_cast<double>(r.tokens + *r.padding)) + " of what batches hold is padding.\n";
  if (r.fixed) text += r.fixed->words;
  if (!r.set_aside.empty()) text += counted(r.set_aside.size(), "sample") + " longer than the capacity set aside.\n";
  if (r.in_ranks) {
    text += "Ordered for " + counted(r.in_ranks->ranks, "rank") + " by ";
    auto const by_tokens = percent_up(r.in_ranks->distance);
    text += r.in_ranks->modelled_idle
                ? "the modelled time of " + r.in_ranks->model + ": ranks wait " + percent_up(*r.in_ranks->modelled_idle) +
                      " of the time; by tokens it would be " + by_tokens + " of a step.\n"
                : "tokens: on average a rank would wait " + by_tokens +
                      " of a step if equal tokens took equal times. With --model packs are ordered by modelled time, and the share of time "
                      "that ranks wait is printed.\n";
  }
  return text;
}

}  // namespace ballast_cli
