// SPDX-License-Identifier: Apache-2.0
#include "../../examples/execute/run_shards.hpp"
#include "figures.hpp"

#include <ballast/sharding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace figures {

void execution(writer& show) {
  // A batch of the program execute_shards; what its first pass does on the ring of all ranks.
  auto const [data, options] = execute::draw_batch(16, execute::transformer{}.vocabulary);
  auto const plan = ballast::plan_shards(data.lengths, options, execute::shard_cost);
  std::vector<numbers> pieces, ring;  // rank, pass, sample, begin, end, ranks that share it; then turn, rank, owner of the keys, pairs
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t p = 0; p < plan.passes(r); ++p)
      for (auto const& [sample, begin, end, group] : plan(r, p)) {
        auto const ranks = group == ballast::not_shared ? 1 : plan.rank_groups[group].size();
        pieces.push_back(
            {static_cast<std::int64_t>(r), static_cast<std::int64_t>(p), sample, begin, end, static_cast<std::int64_t>(ranks)});
      }
  auto const positions = [&](std::size_t rank) {
    numbers out;
    for (auto const& piece : plan(rank, 0))
      for (auto t = piece.begin; t < piece.end; ++t) out.push_back(t);
    return out;
  };
  auto const n = plan.ranks();
  for (std::size_t turn = 0; turn < n; ++turn)
    for (std::size_t r = 0; r < n; ++r) {
      auto const owner = (r + n - turn) % n;  // blocks go to the next rank
      std::int64_t pairs = 0;
      for (auto const query : positions(r))
        for (auto const key : positions(owner)) pairs += key <= query;
      ring.push_back({static_cast<std::int64_t>(turn), static_cast<std::int64_t>(r), static_cast<std::int64_t>(owner), pairs});
    }
  show("execution.pieces", pieces);
  show("execution.ring", ring);
}

}  // namespace figures
