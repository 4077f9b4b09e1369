// SPDX-License-Identifier: Apache-2.0
#include "report/shards.hpp"

#include <cstddef>

namespace ballast_cli {

namespace {

/// Appends `[a,b,...]` of what `write` appends for each number below `count`.
template <class Write>
void append_list(std::string& out, std::size_t count, Write const& write) {
  out += '[';
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0) out += ',';
    write(k);
  }
  out += ']';
}

}  // namespace

std::string line_of(ballast::shards<> const& plan, std::span<ballast::attention_plan<> const> attention,
                    std::span<std::uint64_t const> samples, std::uint64_t batch) {
  auto out = "{\"batch\":" + std::to_string(batch) + ",\"execution\":\"" + std::string(to_string(plan.execution)) +
             "\",\"milliseconds\":" + std::to_string(static_cast<double>(plan.time.value) * 1e-6) +
             ",\"lower_bound\":" + std::to_string(static_cast<double>(plan.time.lower_bound) * 1e-6) + ",\"groups\":";
  append_list(out, plan.rank_groups.size(), [&](std::size_t g) {
    auto const ranks = plan.rank_groups[g];
    append_list(out, ranks.size(), [&](std::size_t k) { out += std::to_string(ranks[k]); });
  });
  out += ",\"ranks\":";
  append_list(out, plan.ranks(), [&](std::size_t r) {
    append_list(out, plan.passes(r), [&](std::size_t m) {
      auto const pieces = plan(r, m);
      append_list(out, pieces.size(), [&](std::size_t k) {
        auto const& p = pieces[k];
        out += '[' + std::to_string(samples[p.sample]) + ',' + std::to_string(p.begin) + ',' + std::to_string(p.end);
        if (p.group != ballast::not_shared) out += ',' + std::to_string(p.group);
        out += ']';
      });
    });
  });
  if (!attention.empty()) {
    out += ",\"attention\":";
    append_list(out, plan.ranks(), [&](std::size_t r) {
      append_list(out, attention.size(), [&](std::size_t m) {
        auto const tasks = attention[m](r);
        append_list(out, tasks.size(), [&](std::size_t k) {
          auto const& t = tasks[k];
          out += '[' + std::to_string(samples[t.sample]) + ',' + std::to_string(t.home) + ',' + std::to_string(t.begin) + ',' +
                 std::to_string(t.end);
          if (t.has_tail()) out += ',' + std::to_string(t.tail_begin) + ',' + std::to_string(t.tail_end);
          out += ']';
        });
      });
    });
  }
  out += ",\"left_out\":";
  append_list(out, plan.left_out.size(), [&](std::size_t k) { out += std::to_string(samples[plan.left_out[k]]); });
  return out += "}\n";
}

}  // namespace ballast_cli
