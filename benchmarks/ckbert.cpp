// SPDX-License-Identifier: Apache-2.0
// Encoders on padded and on packed batches: the two histograms of lengths of packedBERT (BALLAST_TRACES names their folder), at sequences
// of 128 and 512 tokens; longer samples are cut. Forward FLOPs, modelled by the shape: padded samples compute every token and pair of a
// sequence, packed ones every token of a pack and the pairs within samples. `gain` is padded over packed, `inverse_fill` is the tokens of
// padded sequences over those of samples: packing gains it if packs are full and attention costs nothing.
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/methods/ckbert.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

std::vector<std::int32_t> lengths_of(std::string const& name, std::int32_t most) {
  std::vector<std::int32_t> out;
  auto const* const folder = std::getenv("BALLAST_TRACES");
  if (folder == nullptr) return out;
  std::ifstream in(std::string(folder) + '/' + name);
  for (std::int32_t length = 0, count = 0; in >> length >> count;)
    out.insert(out.end(), static_cast<std::size_t>(count), (std::min)(length, most));
  return out;
}

void padded_or_packed(benchmark::State& state, char const* file, char const* name) {
  auto const longest = static_cast<std::int64_t>(state.range(0));
  auto const lengths = lengths_of(file, static_cast<std::int32_t>(longest));
  if (lengths.empty()) return state.SkipWithError("BALLAST_TRACES does not name the folder of the histograms");
  auto const cost = ballast::sample_cost(ballast::ckbert::encoder(name));
  std::size_t packs = 0;
  for (auto _ : state) packs = ballast::best_fit_decreasing(lengths, {.capacity = longest}).packs.size();
  double pairs = 0;
  for (auto const n : lengths) pairs += static_cast<double>(cost(n) - cost.per_token * n);
  auto const tokens = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  auto const samples = static_cast<double>(lengths.size()), of_packs = static_cast<double>(packs) * static_cast<double>(longest);
  state.counters["inverse_fill"] = samples * static_cast<double>(longest) / tokens;
  state.counters["fill"] = tokens / of_packs;
  state.counters["gain"] = samples * static_cast<double>(cost(longest)) / (of_packs * static_cast<double>(cost.per_token) + pairs);
}

BENCHMARK_CAPTURE(padded_or_packed, wikipedia / bert_large, "hist_wikipedia_bert512.txt", "bert-large")->Arg(128)->Arg(512);
BENCHMARK_CAPTURE(padded_or_packed, wikipedia / ckbert_huge, "hist_wikipedia_bert512.txt", "ckbert-huge")->Arg(128)->Arg(512);
BENCHMARK_CAPTURE(padded_or_packed, squad / bert_large, "hist_squad11_384.txt", "bert-large")->Arg(128)->Arg(512);
BENCHMARK_CAPTURE(padded_or_packed, squad / ckbert_huge, "hist_squad11_384.txt", "ckbert-huge")->Arg(128)->Arg(512);

}  // namespace
