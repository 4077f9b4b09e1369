// SPDX-License-Identifier: Apache-2.0
#include "planning/distributions.hpp"

#include <ballast/core/random.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ballast_cli {
namespace {

// Where the texts below have their quantiles.
constexpr std::array<std::uint32_t, 17> grid{0,      1000,   10000,  50000,  100000, 200000, 300000, 400000, 500000,
                                             600000, 700000, 800000, 900000, 950000, 990000, 999000, 1000000};
using on_grid = std::array<std::int64_t, grid.size()>;

std::vector<quantile> column(on_grid const& values) {
  std::vector<quantile> points;
  for (std::size_t i = 0; i < grid.size(); ++i) points.push_back({grid[i], values[i]});
  return points;
}

// The text of samples with images, in tokens, and how many samples (in hundredths) have 1, 3, 4 and 5 tiles.
struct image_set {
  on_grid text;
  std::array<std::uint64_t, 4> with_tiles;
};

// The first four are measured. The others are lognormal, median * exp(sigma * z), with the median, sigma and tile shares given beside them;
// they represent the data sets of the same mixture whose lengths are not published, and were calibrated so that random batches show the
// padding and imbalance that the paper reports.
constexpr image_set image_sets[]{
    // ai2d, chartqa, docvqa, synthdog
    {{35, 36, 38, 39, 41, 43, 46, 48, 50, 52, 55, 58, 65, 73, 97, 161, 345}, {579300, 371000, 60300, 230700}},
    {{31, 32, 35, 37, 38, 40, 42, 45, 64, 79, 90, 137, 168, 216, 319, 417, 550}, {57900, 109600, 1400, 1662800}},
    {{51, 54, 54, 64, 71, 121, 144, 191, 229, 280, 337, 427, 575, 695, 864, 1052, 1256}, {1500, 189500, 3500, 826600}},
    {{34, 41, 49, 59, 66, 77, 87, 97, 108, 120, 135, 154, 185, 214, 276, 349, 501}, {0, 1727600, 0, 1248900}},
    // dvqa: 240, 0.25
    {{83, 111, 134, 159, 174, 194, 211, 225, 240, 256, 274, 296, 331, 362, 429, 520, 697}, {200000 * 100, 0, 0, 0}},
    // geoqa: 150, 0.45
    {{22, 37, 53, 72, 84, 103, 118, 134, 150, 168, 190, 219, 267, 314, 427, 603, 1022}, {72318 * 60, 72318 * 30, 72318 * 4, 72318 * 6}},
    // llava, Chinese: 260, 0.60
    {{20, 41, 64, 97, 121, 157, 190, 223, 260, 303, 356, 431, 561, 698, 1050, 1660, 3360}, {157712 * 74, 157712 * 22, 157712, 157712 * 3}},
    // sharegpt4v captions: 230, 0.35
    {{52, 78, 102, 129, 147, 171, 191, 210, 230, 251, 276, 309, 360, 409, 519, 678, 1023},
     {102025 * 45, 102025 * 20, 102025 * 2, 102025 * 33}},
    // sharegpt4v mix with images: 150, 0.70
    {{15, 17, 29, 47, 61, 83, 104, 126, 150, 179, 217, 270, 368, 474, 764, 1305, 2969},
     {624400 * 56, 624400 * 32, 624400 * 2, 624400 * 10}},
};
// sharegpt4v mix without images, cut to 4096: 800, 0.80. Its samples carry one dummy tile.
constexpr std::uint64_t text_only_weight = 40658 * 100;
constexpr on_grid text_only{26, 68, 124, 215, 287, 408, 526, 653, 800, 980, 1217, 1569, 2230, 2982, 4096, 4096, 4096};

// A tile is 256 tokens of the language model, and the images of a sample are between two marks; samples are cut to 4096 tokens.
std::vector<part> vlm_parts() {
  constexpr std::array<std::int64_t, 4> tiles{1, 3, 4, 5};
  auto const always = [](std::int64_t value) { return std::vector<quantile>{{0, value}, {1000000, value}}; };
  std::vector<part> parts;
  for (auto const& set : image_sets)
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      if (set.with_tiles[t] == 0) continue;
      auto tokens = set.text;
      for (auto& n : tokens) n = (std::min)(std::int64_t{4096}, n + 256 * tiles[t] + 2);
      parts.push_back({set.with_tiles[t], {column(tokens), always(tiles[t])}});
    }
  parts.push_back({text_only_weight, {column(text_only), always(1)}});
  return parts;
}

/// A data set of one column, tokens.
distribution of_tokens(std::string_view name, std::string_view description, std::string_view source, std::vector<quantile> points) {
  return {name, description, source, {"tokens"}, {{1, {std::move(points)}}}};
}

/// Data sets of documents. Points between published ones are chosen so that the mean is that of the data, and so are the shares of the
/// longest 1 % in the tokens and in the squared lengths.
void add_documents(std::vector<distribution>& all) {
  all.push_back(of_tokens(
      "pretraining-documents", "encyclopaedia articles: short, with a tail beyond a million tokens",
      "Wikipedia lengths published with FlexSP (arXiv 2412.01523): quantiles from p50 and shares up to 1K, 4K, 8K and 32K tokens, "
      "longest; below the median the lognormal through p50 and p75",
      {{0, 4},           {10000, 15},      {50000, 38},      {100000, 62},     {250000, 140},    {400000, 247},
       {500000, 347},    {600000, 488},    {680000, 650},    {750000, 862},    {788100, 1024},   {850000, 1429},
       {880000, 1790},   {900000, 2112},   {930000, 2826},   {950000, 3721},   {956100, 4096},   {966000, 4920},
       {984000, 8192},   {987300, 9400},   {990000, 10921},  {992700, 12800},  {995000, 15600},  {997100, 21200},
       {998000, 25200},  {998700, 32768},  {999000, 37367},  {999500, 52000},  {999750, 75000},  {999900, 120000},
       {999960, 170000}, {999980, 225000}, {999990, 310000}, {999996, 430000}, {999999, 700000}, {1000000, 1824000}}));
  all.push_back(of_tokens(
      "prolong", "documents for training on long contexts: most of 1K to 6K tokens, one in 500 above 32K",
      "ProLong lengths published with DistCA (arXiv 2510.18121), 77,932 documents: quantiles from p50 and shares up to 1K, 4K, 8K, 32K and "
      "128K tokens, longest",
      {{0, 64},         {149700, 1024},  {330000, 1460},  {500000, 1914},   {630000, 2560},   {750000, 3467},   {803400, 4096},
       {900000, 6051},  {930000, 6950},  {947400, 8192},  {950000, 8379},   {975000, 10700},  {990000, 16273},  {995000, 20700},
       {997900, 32768}, {999000, 47500}, {999500, 72000}, {999800, 131072}, {999900, 225000}, {1000000, 340000}}));
  all.push_back(of_tokens(
      "wikipedia-chinese", "encyclopaedia articles in Chinese: short, with a tail up to 78K tokens",
      "Chinese Wikipedia: shares up to 1K, 4K, 8K and 32K tokens and the longest as in Skrull (arXiv 2505.19609), table 1; below 4K the "
      "lognormal through the first two",
      {{0, 4},         {1000, 11},     {10000, 25},    {50000, 52},     {100000, 76},    {200000, 122},   {300000, 170},  {400000, 227},
       {500000, 297},  {600000, 388},  {700000, 517},  {800000, 724},   {878800, 1024},  {900000, 1154},  {950000, 1695}, {980000, 2613},
       {993400, 4096}, {997200, 5793}, {999200, 8192}, {999600, 16384}, {999900, 32768}, {1000000, 78000}}));
  all.push_back(of_tokens(
      "wlb", "documents of at most 128K tokens: most of 1K to 6K, one in 100 above 26K",
      "lengths published with DistCA (arXiv 2510.18121) for data as in WLB-LLM (2503.17924), 99,519 documents: quantiles from p50 and "
      "shares up to 1K, 4K, 8K and 32K tokens, longest",
      {{0, 64},
       {159600, 1024},
       {330000, 2000},
       {500000, 3227},
       {637000, 4096},
       {750000, 4832},
       {900000, 5784},
       {950000, 6110},
       {976300, 8192},
       {984000, 12000},
       {990000, 26070},
       {991100, 32768},
       {993600, 52000},
       {996500, 88000},
       {999000, 119836},
       {1000000, 125000}}));
}

std::vector<distribution> make_distributions() {
  std::vector<distribution> all;
  all.push_back({"chat-sft",
                 "conversations of a chat service: short, with a long tail",
                 "LMSYS-Chat-1M (Zheng et al., arXiv 2309.11998): shares up to 1K, 4K, 8K, 32K and 128K tokens as in Skrull (arXiv "
                 "2505.19609), table 1, longest as in ChunkFlow (arXiv 2503.02356); below 4K the lognormal through the first two",
                 {"tokens"},
                 {{1, {{{0, 4},         {1000, 14},      {10000, 30},     {50000, 59},      {100000, 86},     {200000, 135},
                        {300000, 188},  {400000, 248},   {500000, 321},   {600000, 416},    {700000, 549},    {800000, 761},
                        {871200, 1024}, {900000, 1194},  {950000, 1733},  {980000, 2636},   {993500, 4096},   {997000, 5717},
                        {998700, 8192}, {999300, 12963}, {999800, 32768}, {999900, 131072}, {1000000, 303000}}}}}});
  all.push_back({"long-context-sft",
                 "long-context instruction tuning: most samples of 8K to 32K tokens",
                 "ChatQA2-Long-SFT: shares up to 1K, 4K, 8K and 32K tokens and the longest as in Skrull (arXiv 2505.19609), table 1; in "
                 "between, equal shares for equal ratios",
                 {"tokens"},
                 {{1,
                   {{{0, 32},
                     {43840, 64},
                     {87680, 128},
                     {131520, 256},
                     {175360, 512},
                     {219200, 1024},
                     {267000, 2048},
                     {314800, 4096},
                     {404300, 8192},
                     {701450, 16384},
                     {998600, 32768},
                     {1000000, 99000}}}}}});
  add_documents(all);
  all.push_back(
      {"reasoning-rollouts",
       "requests to a reasoning model, prompt and answer: both heavy-tailed",
       "ServeGen (alibaba/ServeGen, Apache-2.0), reason/deepseek-r1: quantiles of 50,000 draws from its published histograms of input and "
       "output tokens",
       {"prompt", "response"},
       {{1,
         {{{0, 4},         {10000, 9},      {50000, 13},     {100000, 18},    {200000, 30},    {300000, 58},    {400000, 115},
           {500000, 208},  {600000, 266},   {700000, 406},   {800000, 755},   {850000, 1189},  {900000, 2150},  {925000, 3866},
           {950000, 6646}, {965000, 10733}, {980000, 16130}, {990000, 23480}, {995000, 28143}, {999000, 33985}, {1000000, 55083}},
          {{0, 28},        {10000, 142},   {50000, 228},   {100000, 291},   {200000, 388},   {300000, 471},   {400000, 583},
           {500000, 790},  {600000, 1097}, {700000, 1366}, {800000, 1670},  {850000, 2172},  {900000, 3429},  {925000, 4326},
           {950000, 5736}, {965000, 7090}, {980000, 9415}, {990000, 12693}, {995000, 15799}, {999000, 20923}, {1000000, 30853}}}}}});
  all.push_back(
      {"vlm-sft",
       "instruction tuning of a vision-language model, 1.27 million samples of nine data sets: language-model tokens, image tiles",
       "InternVL 1.2M mixture as balanced by OmniBal (arXiv 2407.20761): four data sets by the quantiles of their lengths "
       "(ModelTC/OmniBal), five by lognormals calibrated to the paper's imbalance figures",
       {"tokens", "tiles"},
       vlm_parts()});
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  return all;
}

std::int64_t draw_one(std::vector<quantile> const& points, ballast::splitmix64& random) {
  auto const at = ballast::uniform_below(1000000, random);
  auto const above =
      std::upper_bound(points.begin(), points.end(), at, [](std::uint64_t p, quantile const& q) { return p < q.per_million; });
  auto const low = (above - 1)->value;
  return low + static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(above->value - low) + 1, random));
}

}  // namespace

std::span<distribution const> distributions() {
  static std::vector<distribution> const all = make_distributions();
  return all;
}

std::vector<std::int64_t> draw(distribution const& like, std::uint64_t samples, std::uint64_t seed) {
  std::vector<std::uint64_t> up_to;  // sums of weights
  for (std::uint64_t sum = 0; auto const& p : like.parts) up_to.push_back(sum += p.weight);
  std::vector<std::int64_t> rows;
  rows.reserve(static_cast<std::size_t>(samples) * like.columns.size());
  ballast::splitmix64 random(seed);
  for (std::uint64_t i = 0; i < samples; ++i) {
    auto const at = ballast::uniform_below(up_to.back(), random);
    auto const which = std::upper_bound(up_to.begin(), up_to.end(), at) - up_to.begin();
    for (auto const& points : like.parts[static_cast<std::size_t>(which)].columns) rows.push_back(draw_one(points, random));
  }
  return rows;
}

}  // namespace ballast_cli
