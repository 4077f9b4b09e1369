// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "binders.hpp"
#include "groups_view.hpp"
#include "interrupt.hpp"
#include "report/output.hpp"
#include "shards.hpp"

namespace ballast_python {

namespace {

/// Samples in chunks, the chains of each rank, and the chunks of each rank as passes.
struct chunk_plan {
  ballast::chunking<> chunks;
  ballast::groups<std::uint32_t> ranks;
  shard_plan shards;
  std::int64_t size = 0;
  std::uint64_t retain = 1;
};

/// The passes of each chain of a rank.
nb::list chains_of(nb::handle self, std::int64_t rank) {
  auto const& of = nb::cast<chunk_plan const&>(self);
  nb::object const passes = passes_of(self.attr("shards"), rank);
  nb::list out;
  std::size_t at = 0;
  for (auto const chain : of.ranks[static_cast<std::size_t>(rank)]) {
    nb::list mine;
    for (std::size_t k = 0; k < of.chunks.chains[chain].size(); ++k) mine.append(passes[at++]);
    out.append(mine);
  }
  return out;
}

nb::list tasks_of(std::uint64_t chunks, std::uint64_t retain) {
  static constexpr char const* words[] = {"forward_keep", "forward_drop", "forward_again", "backward"};
  require_fitting("chunks", chunks, 0);
  nb::list out;
  for (auto const& task : ballast::retained_tasks(chunks, retain))
    out.append(nb::make_tuple(task.chunk, words[static_cast<std::size_t>(task.pass)]));
  return out;
}

std::uint64_t forwards_again(chunk_plan const& p) {
  std::uint64_t out = 0;
  for (auto const chain : p.chunks.chains) out += chain.size() > p.retain ? chain.size() - p.retain : 0;
  return out;
}

chunk_plan chunks_for(array_like const& lengths, std::int64_t size, std::uint64_t ranks, std::uint64_t retain,
                      shared_cost_argument const& cost) {
  auto const given = integers(lengths, "lengths").copy();
  ballast::require(retain > 0, [] { return "retain = 0 must be positive: the last chunk of a sample runs backward at once"; });
  ballast::require(ranks > 0 && ranks < std::uint64_t{1} << 20,
                   [&] { return "ranks = " + std::to_string(ranks) + " must be in 1 ... 2^20 - 1"; });
  (void)ballast::require_chunks(given, {.size = size});
  auto const work = shared_cost_of(cost, ranks, size);
  return interruptible(given.size(), [=] {
    auto chunks = ballast::make_chunks(given, {.size = size});
    auto const works = ballast::chunk_work(chunks, {.retained = retain, .per_chunk = work.per_pass},
                                           [&](std::int64_t length) { return work.of(length, 1); });
    std::vector<std::int64_t> times;
    for (auto const& w : works.of_chunk) times.push_back(w.forward + w.backward + w.recompute);
    auto dealt = ballast::deal_chunks(chunks, {.sets = ranks}, times);
    shard_plan shards(ballast::shards_of(chunks, dealt.sets), given);
    return chunk_plan{std::move(chunks), std::move(dealt.sets), std::move(shards), size, retain};
  });
}

}  // namespace

void bind_chunks(nb::module_& m) {
  nb::class_<chunk_plan>(m, "Chunks",
                         "Samples in chunks: short ones share a chunk, a long one is a chain of several, which keep keys and values.")
      .def_ro("shards", &chunk_plan::shards, nb::rv_policy::reference_internal, "The chunks of each rank, each of which is a pass.")
      .def("chains_of", &chains_of, nb::sig("def chains_of(self, rank: int) -> list[list[ShardPass]]"), "rank"_a,
           "The chunks of each chain of a rank, in the order of their tokens.")
      .def(
          "tasks", [](chunk_plan const& p, std::uint64_t chunks) { return tasks_of(chunks, p.retain); },
          nb::sig("def tasks(self, chunks: int) -> list[tuple[int, str]]"), "chunks"_a,
          "What a chain of that many chunks does: the number of a chunk, and \"forward_keep\", \"forward_drop\" where only keys and "
          "values\n"
          "stay, \"forward_again\" or \"backward\".")
      .def_prop_ro(
          "chains", [](nb::handle self) { return all_of(nb::cast<chunk_plan const&>(self).chunks.chains, self); },
          "The numbers of the chunks of each chain.")
      .def_prop_ro(
          "chains_by_rank", [](nb::handle self) { return all_of(nb::cast<chunk_plan const&>(self).ranks, self); },
          "The numbers of the chains of each rank.")
      .def_prop_ro(
          "count", [](chunk_plan const& p) { return p.chunks.size(); }, "Number of chunks.")
      .def_prop_ro(
          "lower_bound", [](chunk_plan const& p) { return p.chunks.count.lower_bound; }, "No plan of this size has fewer chunks.")
      .def_prop_ro("forwards_again", &forwards_again, "Chunks whose forward pass runs again.")
      .def_ro("size", &chunk_plan::size, "Most tokens of a chunk.")
      .def_ro("retain", &chunk_plan::retain, "Chunks of a chain that keep their activations.")
      .def("__repr__", [](chunk_plan const& p) {
        return "<Chunks: " + ballast_cli::counted(p.chunks.size(), "chunk") + " in " +
               ballast_cli::counted(p.chunks.chains.size(), "chain") + ">";
      });
  m.def("retained_tasks", &tasks_of, nb::sig("def retained_tasks(chunks: int, retain: int = 1) -> list[tuple[int, str]]"), "chunks"_a,
        "retain"_a = 1,
        "What a chain of that many chunks does where `retain` of them keep their activations, as `Chunks.tasks` returns it. A chain of\n"
        "plan_shards(method=\"chunkflow\") retains one.");
  m.def("chunks", &chunks_for, "lengths"_a, "size"_a, nb::kw_only(), "ranks"_a = 1, "retain"_a = 1, "cost"_a = nb::none(),
        "Cuts samples longer than `size` tokens into chunks, packs the others into chunks, and deals them to ranks (ChunkFlow).\n\n"
        "A chain, the chunks of one sample, stays on a rank. The last `retain` chunks of a chain keep their activations; the others run\n"
        "their forward again. `cost` has no default: the name of a model, a Transformer, or ballast.degree_cost(...).");
}

}  // namespace ballast_python
