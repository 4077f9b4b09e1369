// SPDX-License-Identifier: Apache-2.0
// Label counts, totals, weights and loss sums are those of the host, word by word, and do not depend on how a row is cut.
#include "support/backends.hpp"
#include "support/counted.hpp"
#include "support/distributions.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/loss/fixed_point_sum.cuh>
#include <ballast/gpu/loss/label_counts.cuh>
#include <ballast/gpu/loss/token_weights.cuh>
#include <ballast/gpu/loss/totals.cuh>
#include <ballast/gpu/loss/weighted_loss.cuh>
#include <ballast/gpu/loss/weights.cuh>
#include <ballast/layout/zigzag.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/loss/token_weights.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast::gpu::send;
using ballast_test::expect;
using ballast_test::expect_as_host;
using ballast_test::expect_equal;
using ballast_test::expect_same_refusal;
using ballast_test::one_of;
using ballast_test::part;

namespace {

// A packed row: sequences, some of them empty, padding behind them, labels of which a third is ignored, and losses.
struct host_row {
  std::vector<std::int32_t> cu{0};
  std::vector<std::int64_t> labels;
  std::vector<float> losses;

  host_row(int distribution, std::size_t sequences, std::int64_t longest, bool bad_losses) {
    ballast::splitmix64 draw(sequences + 7);
    for (auto const length : ballast_test::lengths_of(distribution, sequences, longest))
      cu.push_back(cu.back() + static_cast<std::int32_t>(draw() % 16 == 0 ? 0 : length));
    labels.resize(static_cast<std::size_t>(cu.back()) + draw() % 5000);
    losses.resize(labels.size());
    for (std::size_t t = 0; t < labels.size(); ++t) {
      labels[t] = draw() % 3 == 0 ? -100 : static_cast<std::int64_t>(draw() % 128'000);
      losses[t] = static_cast<float>(draw() >> 40) * 0x1p-20F - 1.0F;
      if (bad_losses && draw() % 512 == 0) losses[t] = draw() % 2 == 0 ? std::numeric_limits<float>::infinity() : 1e30F;
      if (bad_losses && draw() % 512 == 0) losses[t] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  [[nodiscard]] std::size_t sequences() const { return cu.size() - 1; }
  [[nodiscard]] std::size_t begin(std::size_t i) const { return static_cast<std::size_t>(cu[i]); }
};

template <class On>
struct device_row {
  gpu::array<std::int32_t, On> cu;
  gpu::array<std::int64_t, On> labels;
  gpu::array<float, On> losses;
  device_row(On on, host_row const& row) : cu(send(on, row.cu)), labels(send(on, row.labels)), losses(send(on, row.losses)) {}
};

template <int F>
void expect_words(ballast::fixed_point_sum<F> const& found, ballast::fixed_point_sum<F> const& wanted, std::string const& what) {
  expect_equal(found.words, wanted.words, what);
}

// All numbers of a normaliser's arithmetic in bits, so that equal means equal.
std::vector<std::uint64_t> bits_of(std::vector<double> const& values) {
  std::vector<std::uint64_t> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](double x) { return std::bit_cast<std::uint64_t>(x); });
  return out;
}

template <class On>
void test_counts(On on, host_row const& row, device_row<On> const& device, std::string const& at) {
  std::vector<std::int32_t> const narrow(row.labels.begin(), row.labels.end());
  auto const narrow_labels = send(on, narrow);
  for (auto const shift : {ballast::label_shift::in_model, ballast::label_shift::done}) {
    ballast::label_options const options{.ignore = -100, .shift = shift};
    auto const wanted = ballast::label_counts(row.labels, row.cu, options);
    expect_equal(fetch(on, gpu::label_counts(on, device.labels.data(), row.labels.size(), device.cu.data(), row.sequences(), options)),
                 wanted, "counts" + at);
    expect_equal(fetch(on, gpu::label_counts(on, narrow_labels.data(), narrow.size(), device.cu.data(), row.sequences(), options)), wanted,
                 "counts of 32-bit labels" + at);
  }
}

template <class On>
void test_weights(On on, std::vector<std::int64_t> const& counts, ballast::loss_normaliser normaliser, ballast::gradient_path const& path,
                  std::string const& at) {
  using divisor = ballast::loss_divisor;
  if (normaliser.divisor == divisor::length || normaliser.divisor == divisor::sequence_length) normaliser.length = 4096;
  auto const half = counts.size() / 2;
  std::vector<std::int64_t> const mine(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(half));
  auto const all_counts = send(on, counts), my_counts = send(on, mine);
  auto const totals = gpu::loss_totals_of(on, all_counts.data(), counts.size(), normaliser);
  auto const part = gpu::loss_totals_of(on, my_counts.data(), half, normaliser);
  expect_equal(totals.words, ballast::loss_totals_of(counts, normaliser).words, "totals" + at);
  expect_equal(part.words, ballast::loss_totals_of(mine, normaliser).words, "totals of a part" + at);
  expect_equal(bits_of(fetch(on, gpu::loss_weights(on, my_counts.data(), half, totals, normaliser, path, part))),
               bits_of(ballast::loss_weights(mine, totals, normaliser, path, part)), "weights" + at);
}

template <class On>
void test_all_weights(On on, std::vector<std::int64_t> const& counts, std::string const& at) {
  ballast::gradient_path const path{.ranks = 6, .context = 4, .micro_batches = 5};
  for (auto const& preset : ballast::loss_presets) {
    auto with = preset.path;
    with.ranks = 6;
    with.context = 4;
    with.micro_batches = 5;
    test_weights(on, counts, preset.normaliser, with, at + ", " + std::string(preset.name));
  }
  for (auto const p : {0.0, 0.1, 0.5, 1.0})
    for (int d = 0; d < 6; ++d)
      for (int scope = 0; scope < 3; ++scope) {
        ballast::loss_normaliser const normaliser{
            .power = p, .divisor = static_cast<ballast::loss_divisor>(d), .scope = static_cast<ballast::loss_scope>(scope)};
        test_weights(on, counts, normaliser, path, at + ", divisor " + std::to_string(d));
      }
}

// What the fused pass should make: a mask, products and sums by the host's functions.
template <int F>
void test_loss(auto on, host_row const& row, auto const& device, std::string const& at) {
  auto const sequences = row.sequences();
  auto const counts = ballast::label_counts(row.labels, row.cu);
  auto const totals = ballast::loss_totals_of(counts, ballast::loss_normaliser::square_root());
  auto const weights = ballast::loss_weights(counts, totals, ballast::loss_normaliser::square_root(), {.ranks = 3});
  auto const per_token = ballast::token_weights<double>(weights, row.labels, row.cu);
  std::vector<ballast::fixed_point_sum<F>> plain(sequences + 1), weighted(sequences + 1);
  for (std::size_t i = 0; i < sequences; ++i) {
    for (auto t = row.begin(i); t < row.begin(i + 1); ++t) {
      plain[i].add(row.losses[t]);
      if (per_token[t] != 0) weighted[i].add(per_token[t] * static_cast<double>(row.losses[t]));
    }
    plain.back() += plain[i];
    weighted.back() += weighted[i];
  }

  auto const sums = fetch(on, gpu::fixed_point_sums<F>(on, device.losses.data(), row.losses.size(), device.cu.data(), sequences));
  for (std::size_t i = 0; i <= sequences; ++i) expect_words(sums[i], plain[i], "sum " + std::to_string(i) + at);

  auto const on_device = send(on, weights);
  auto const scale = gpu::token_weights(on, on_device.data(), device.labels.data(), row.labels.size(), device.cu.data(), sequences);
  auto const wanted_scale = ballast::token_weights<float>(weights, row.labels, row.cu);
  expect_equal(fetch(on, scale), wanted_scale, "token weights" + at);
  for (int twice = 0; twice < 2; ++twice) {
    auto const fused = gpu::weighted_loss<float, F>(on, device.losses.data(), device.labels.data(), row.labels.size(), device.cu.data(),
                                                    sequences, on_device.data());
    expect_equal(fetch(on, fused.scale), wanted_scale, "gradient" + at);
    expect_words(fused.total, weighted.back(), "weighted loss" + at);
  }
}

// Losses of 16 bits count as what they are in a float, and gradients are those of a float, rounded once more.
template <class Narrow>
void test_narrow(auto on, host_row const& row, auto const& device, std::string const& at) {
  auto const sequences = row.sequences(), tokens = row.labels.size();
  std::vector<Narrow> narrow(tokens);
  std::vector<float> widened(tokens);
  for (std::size_t t = 0; t < tokens; ++t) widened[t] = static_cast<float>(narrow[t] = Narrow(row.losses[t]));
  std::vector<double> weights(sequences);
  for (std::size_t i = 0; i < sequences; ++i) weights[i] = 1.0 / static_cast<double>(3 * i + 1);
  auto const narrow_there = send(on, narrow);
  auto const wide_there = send(on, widened), factor = send(on, std::vector<float>{0.37F});
  auto const weights_there = send(on, weights);
  auto const same = [&](auto const& found, auto const& wanted, std::string const& what) {
    for (std::size_t i = 0; i <= sequences; ++i) expect_words(found[i], wanted[i], what + std::to_string(i) + at);
  };
  same(fetch(on, gpu::fixed_point_sums(on, narrow_there.data(), tokens, device.cu.data(), sequences)),
       fetch(on, gpu::fixed_point_sums(on, wide_there.data(), tokens, device.cu.data(), sequences)), "sum of 16 bits ");
  auto const pass = [&](auto scale_of, auto const* losses, float const* by) {
    using scale = decltype(scale_of);
    gpu::array<scale, decltype(on)> const out(on, tokens), weight(on, tokens);
    gpu::array<ballast::fixed_point_sum<44>, decltype(on)> const sums(on, sequences + 1);
    gpu::array<std::uint64_t, decltype(on)> const bad(on, 1);
    call(on, "weighted_loss", [&](void* temp, std::size_t& bytes) {
      return gpu::weighted_loss(on, temp, bytes, losses, device.labels.data(), tokens, device.cu.data(), sequences, weights_there.data(),
                                {}, out.data(), sums.data(), sums.data() + sequences, bad.data(), by);
    });
    call(on, "token_weights", [&](void* temp, std::size_t& bytes) {
      return gpu::token_weights(on, temp, bytes, weights_there.data(), device.labels.data(), tokens, device.cu.data(), sequences, {},
                                weight.data(), bad.data(), by);
    });
    struct results {
      std::vector<scale> fused, alone;
      std::vector<ballast::fixed_point_sum<44>> sums;
    };
    return results{fetch(on, out), fetch(on, weight), fetch(on, sums)};
  };
  auto const exact = ballast::token_weights<double>(weights, row.labels, row.cu);
  auto const plain = pass(float{}, wide_there.data(), nullptr);
  auto const with_factor = pass(Narrow{}, narrow_there.data(), factor.data());
  auto const in_float = pass(float{}, narrow_there.data(), factor.data());
  same(plain.sums, with_factor.sums, "weighted sum of 16 bits ");
  same(plain.sums, in_float.sums, "weighted sum beside floats ");
  for (std::size_t t = 0; t < tokens; ++t) {
    auto const wanted = static_cast<float>(exact[t] * static_cast<double>(0.37F));
    auto const token = "gradient " + std::to_string(t) + at;
    expect(in_float.fused[t] == wanted && in_float.alone[t] == wanted, token);
    expect(with_factor.fused[t].bits == Narrow(wanted).bits && with_factor.alone[t].bits == Narrow(wanted).bits, token + " in 16 bits");
  }
}

// A trainer's row costs two or three nodes of a CUDA graph: checks and tiles, the pass, and for sums of the row their end.
void test_nodes() {
  using ballast_test::nodes_of;
  for (std::size_t const tokens : {8'192U, 32'768U, 131'072U}) {
    host_row const row(0, tokens / 1000, 1000, false);
    auto const n = row.sequences(), size = row.labels.size();
    std::vector<double> const weights(n, 0.5);
    std::vector<float> scale(size);
    std::vector<std::int64_t> counts(n);
    std::vector<ballast::fixed_point_sum<44>> sums(n + 1);
    std::uint64_t bad = 0;
    auto const at = " at " + std::to_string(tokens);
    auto const* const labels = row.labels.data();
    auto const* const cu = row.cu.data();
    expect(nodes_of([&](auto on, void* t, std::size_t& b) {
             return gpu::weighted_loss(on, t, b, row.losses.data(), labels, size, cu, n, weights.data(), {}, scale.data(), sums.data(),
                                       sums.data() + n, &bad);
           }) == 3,
           "weighted_loss" + at);
    expect(nodes_of([&](auto on, void* t, std::size_t& b) {
             return gpu::fixed_point_sums(on, t, b, row.losses.data(), size, cu, n, sums.data(), sums.data() + n, &bad);
           }) == 3,
           "fixed_point_sums" + at);
    expect(nodes_of([&](auto on, void* t, std::size_t& b) {
             return gpu::token_weights(on, t, b, weights.data(), labels, size, cu, n, {}, scale.data(), &bad);
           }) == 2,
           "token_weights" + at);
    expect(nodes_of([&](auto on, void* t, std::size_t& b) {
             return gpu::label_counts(on, t, b, labels, size, cu, n, {}, counts.data(), &bad);
           }) == 2,
           "label_counts" + at);
    expect(bad == gpu::none_bad, "a good row" + at);
  }
}

// The same row in pieces that cut sequences anywhere: counts and words add up to those of the whole.
template <class On>
void test_pieces(On on, host_row const& row, std::size_t pieces) {
  ballast::label_options const done{.shift = ballast::label_shift::done};
  auto const wanted = ballast::label_counts(row.labels, row.cu, done);
  device_row const device(on, row);
  auto const whole = fetch(on, gpu::fixed_point_sums(on, device.losses.data(), row.losses.size(), device.cu.data(), row.sequences()));
  std::vector<std::int64_t> counts(row.sequences());
  std::vector<ballast::fixed_point_sum<24>> sums(row.sequences() + 1);
  for (std::size_t p = 0; p < pieces; ++p) {
    auto const from = row.labels.size() * p / pieces, to = row.labels.size() * (p + 1) / pieces;
    std::vector<std::int32_t> cu;
    for (std::size_t i = 0; i <= row.sequences(); ++i)
      cu.push_back(static_cast<std::int32_t>((std::min)((std::max)(row.begin(i), from), to) - from));
    auto const in_piece = send(on, cu);
    auto const some = fetch(on, gpu::label_counts(on, device.labels.data() + from, to - from, in_piece.data(), row.sequences(), done));
    auto const part = fetch(on, gpu::fixed_point_sums(on, device.losses.data() + from, to - from, in_piece.data(), row.sequences()));
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += some[i];
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  expect_equal(counts, wanted, "counts of " + std::to_string(pieces) + " pieces");
  for (std::size_t i = 0; i < sums.size(); ++i) expect_words(sums[i], whole[i], "sum of " + std::to_string(pieces) + " pieces");
}

// Context-parallel ranks: each counts its chunks, or all count everything and share; either way each sequence counts once.
template <class On>
void test_context_parallel(On on) {
  constexpr std::int64_t ranks = 4;
  ballast::splitmix64 draw(4);
  std::vector<std::int32_t> cu{0}, local{0};
  for (int i = 0; i < 50; ++i) {
    cu.push_back(cu.back() + 2 * static_cast<std::int32_t>(ranks * static_cast<std::int64_t>(draw() % 400)));
    local.push_back(cu.back() / static_cast<std::int32_t>(ranks));
  }
  std::vector<std::int64_t> labels(static_cast<std::size_t>(cu.back()));
  for (auto& label : labels) label = draw() % 3 == 0 ? -100 : 5;
  ballast::label_options const done{.shift = ballast::label_shift::done};
  auto const wanted = ballast::label_counts(labels, cu, done);
  auto const device_cu = send(on, local);
  std::vector<std::int64_t> counts(50);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<std::int64_t> mine;
    for (auto const t : ballast::zigzag_indices(cu, {ranks}, rank)) mine.push_back(labels[static_cast<std::size_t>(t)]);
    auto const device = send(on, mine);
    auto const some = fetch(on, gpu::label_counts(on, device.data(), mine.size(), device_cu.data(), 50, done));
    for (std::size_t i = 0; i < 50; ++i) counts[i] += some[i];
  }
  expect_equal(counts, wanted, "counts of context-parallel ranks");

  auto const root = ballast::loss_normaliser::length_power(0.3);
  auto const once = ballast::loss_totals_of(wanted, root);
  auto reduced = once;
  for (std::int64_t rank = 1; rank < ranks; ++rank)
    for (std::size_t k = 0; k < 5; ++k) reduced.words[k] += once.words[k];
  auto const totals = send(on, std::vector{reduced});
  gpu::array<std::uint64_t, On> const bad(on, 1);
  gpu::call(on, "shared_by", [&](void* temp, std::size_t& bytes) {  // in place: a graph of it would divide at each launch
    return gpu::shared_by(on, temp, bytes, totals.data(), ranks, totals.data(), bad.data());
  });
  expect_equal(fetch(on, totals)[0].words, reduced.shared_by(ranks).words, "shared totals");
  expect(fetch(on, totals)[0] == once && fetch(on, bad)[0] == ~std::uint64_t{0}, "shared totals are those of one rank");
  auto const odd = send(on, std::vector{ballast::loss_totals{{8, 3, 0, 0, 0}}});
  gpu::array<ballast::loss_totals, On> const odd_totals(on, 1);
  call(on, "shared_by",
       [&](void* temp, std::size_t& bytes) { return gpu::shared_by(on, temp, bytes, odd.data(), 4, odd_totals.data(), bad.data()); });
  expect(fetch(on, bad)[0] == 1, "totals that are no multiple");
}

// The whole step on the device: nothing is downloaded until the loss is known.
template <class On>
void test_without_waiting(On on, host_row const& row) {
  device_row const device(on, row);
  auto const n = row.sequences(), tokens = row.labels.size();
  auto const normaliser = ballast::loss_normaliser::sample_mean();
  ballast::gradient_path const path{.ranks = 2};
  gpu::array<std::int64_t, On> const counts(on, n);
  gpu::array<ballast::loss_totals, On> const totals(on, 1);
  gpu::array<double, On> const weights(on, n);
  gpu::array<float, On> const scale(on, tokens);
  gpu::array<ballast::fixed_point_sum<44>, On> const sums(on, n + 1);
  gpu::array<std::uint64_t, On> const bad(on, 4);
  auto* const word = bad.data();
  call(on, "label_counts", [&](void* t, std::size_t& b) {
    return gpu::label_counts(on, t, b, device.labels.data(), tokens, device.cu.data(), n, {}, counts.data(), word);
  });
  call(on, "totals",
       [&](void* t, std::size_t& b) { return gpu::loss_totals_of(on, t, b, counts.data(), n, normaliser, totals.data(), word + 1); });
  call(on, "weights", [&](void* t, std::size_t& b) {
    return gpu::loss_weights(on, t, b, counts.data(), n, totals.data(), normaliser, path, nullptr, weights.data(), word + 2);
  });
  call(on, "weighted_loss", [&](void* t, std::size_t& b) {
    return gpu::weighted_loss(on, t, b, device.losses.data(), device.labels.data(), tokens, device.cu.data(), n, weights.data(), {},
                              scale.data(), sums.data(), sums.data() + n, word + 3);
  });
  expect_equal(fetch(on, bad), std::vector<std::uint64_t>(4, ~std::uint64_t{0}), "bad");
  double loss = 0;  // in double precision
  auto const host_counts = ballast::label_counts(row.labels, row.cu);
  auto const host_weights = ballast::loss_weights(host_counts, ballast::loss_totals_of(host_counts, normaliser), normaliser, path);
  auto const per_token = ballast::token_weights<double>(host_weights, row.labels, row.cu);
  for (std::size_t t = 0; t < tokens; ++t)
    if (per_token[t] != 0) loss += per_token[t] * static_cast<double>(row.losses[t]);
  auto const found = fetch(on, sums).back();
  expect(found.clean() && found.value() - loss < 1e-9 && loss - found.value() < 1e-9, "loss of a step");
}

template <class On>
void test_bad_rows(On on) {
  std::vector<std::int64_t> const labels(10, 3);
  std::vector<float> const losses(10, 1.0F);
  auto const device = send(on, labels);
  auto const numbers = send(on, losses);
  auto const weights = send(on, std::vector<double>(3, 0.5));
  for (auto const& bad : {std::vector<std::int64_t>{1, 2, 3, 4}, {0, 5, 4, 10}, {0, 5, 6, 11}, {0, -1, 5, 6}, {0, 4'000'000'000, 7, 9}}) {
    auto const cu = send(on, bad);
    auto const host = [&] { return ballast::label_counts(labels, bad); };
    expect_same_refusal([&] { return gpu::label_counts(on, device.data(), 10, cu.data(), 3); }, host, "label_counts");
    expect_same_refusal([&] { return gpu::token_weights(on, weights.data(), device.data(), 10, cu.data(), 3); }, host, "token_weights");
    expect_same_refusal([&] { return gpu::fixed_point_sums(on, numbers.data(), 10, cu.data(), 3); }, host, "fixed_point_sums");
    expect_same_refusal([&] { return gpu::weighted_loss(on, numbers.data(), device.data(), 10, cu.data(), 3, weights.data()); }, host,
                        "weighted_loss");
  }
}

template <class On>
void test_bad_counts(On on) {
  using counts = std::vector<std::int64_t>;
  auto const top = (std::int64_t{1} << 40) - 1;
  ballast::loss_normaliser const mean, root = ballast::loss_normaliser::square_root();
  auto const totals_of = [&](counts const& values) {
    auto const device = send(on, values);
    expect_same_refusal([&] { return gpu::loss_totals_of(on, device.data(), values.size(), mean); },
                        [&] { return ballast::loss_totals_of(values, mean); }, "totals");
  };
  totals_of({1, -5, -6});
  totals_of({1, 2, top + 1});

  auto const weights_of = [&](counts const& values, ballast::loss_totals const& totals, ballast::loss_normaliser const& normaliser,
                              ballast::loss_totals const& part = {}, ballast::gradient_path const& path = {}) {
    auto const device = send(on, values);
    expect_same_refusal([&] { return gpu::loss_weights(on, device.data(), values.size(), totals, normaliser, path, part); },
                        [&] { return ballast::loss_weights(values, totals, normaliser, path, part); }, "weights");
  };
  weights_of({3, -5}, {{5, 2, 0, 0, 0}}, mean);
  weights_of({3, 6}, {{5, 2, 0, 0, 0}}, mean);
  weights_of({3}, {{5, 2, 0, 0, 0}}, ballast::loss_normaliser::token_mean(ballast::loss_scope::rank));
  weights_of({3}, {{-1, 0, 0, 0, 0}}, mean);
  weights_of({3}, {{5, 2, 0, 0, 0}}, root);
  weights_of({3}, {{5, 2, 0, 0, 0}}, mean, {}, {.ranks = 0});
  weights_of({3}, {{5, 2, 0, 0, 0}}, ballast::loss_normaliser::fixed_length(0));
  weights_of({3}, {{5, 2, 0, 0, 0}}, {.power = 2});
  weights_of({8}, {{7, 1, 0, 0, 0}}, ballast::loss_normaliser::ave_token(), {{8, 1, 0, 0, 0}});
  weights_of({8}, {{std::int64_t{1} << 40, std::int64_t{1} << 40, 0, 0, 0}}, ballast::loss_normaliser::fixed_length(std::int64_t{1} << 40));

  // The faults that reach the device form, which has only a word to say so.
  auto const device = send(on, counts{3, 4});
  gpu::array<double, On> const out(on, 2);
  gpu::array<std::uint64_t, On> const bad(on, 1);
  gpu::array<ballast::loss_totals, On> const sums(on, 1);
  {
    counts const many((std::size_t{1} << 23) + 9, top);
    auto const in = send(on, many);
    call(on, "totals",
         [&](void* t, std::size_t& b) { return gpu::loss_totals_of(on, t, b, in.data(), many.size(), mean, sums.data(), bad.data()); });
    expect(fetch(on, bad)[0] == many.size(), "a sum of 2^63");
  }
  auto const sum = ballast::loss_normaliser::sequence_mean();
  for (auto const& wrong : {ballast::loss_totals{{7, 0, 0, 0, 0}}, {{7, -2, 0, 0, 0}}, {{6, 2, 0, 0, 0}}, {{-7, 2, 0, 0, 0}}}) {
    auto const totals = send(on, std::vector{wrong});
    call(on, "weights", [&](void* t, std::size_t& b) {
      return gpu::loss_weights(on, t, b, device.data(), 2, totals.data(), sum, {}, nullptr, out.data(), bad.data());
    });
    expect(fetch(on, bad)[0] == 2, "totals that are wrong");
  }
  auto const totals = send(on, std::vector{ballast::loss_totals{{7, 2, 0, 0, 0}}});
  std::size_t bytes = 0;
  auto const weigh = [&](void* temp, ballast::loss_normaliser const& normaliser, ballast::gradient_path const& path) {
    return gpu::loss_weights(on, temp, bytes, device.data(), 2, totals.data(), normaliser, path, nullptr, out.data(), bad.data());
  };
  expect(weigh(nullptr, {.power = -1}, {}) == On::invalid_value && weigh(nullptr, {}, {.context = 0}) == On::invalid_value &&
             weigh(nullptr, ballast::loss_normaliser::fixed_length(-1), {}) == On::invalid_value,
         "scalars");
  gpu::check(weigh(nullptr, sum, {}), "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  expect(weigh(temp.data(), ballast::loss_normaliser::token_mean(ballast::loss_scope::rank), {}) == On::invalid_value, "no part");
  --bytes;
  expect(weigh(temp.data(), sum, {}) == On::invalid_value, "a workspace of a byte too few");
  auto const half = [&](void* memory) { return gpu::loss_totals_of(on, memory, bytes, device.data(), 2, sum, sums.data(), bad.data()); };
  gpu::check(half(nullptr), "size");
  --bytes;
  expect(half(temp.data()) == On::invalid_value, "a workspace of a byte too few for totals");
}

// What twins and hosts say of random input, much of which is bad.
template <class On>
void test_as_host(On on) {
  using numbers = std::vector<std::int64_t>;
  using ballast::loss_divisor;
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    auto const at = " in round " + std::to_string(round);
    numbers counts(draw() % 4), cu{draw() % 8 == 0 ? 1 : 0};
    for (auto& c : counts)
      c = draw() % 12 == 0 ? one_of<std::int64_t>(draw, {-1, 1LL << 40, (1LL << 40) - 1}) : one_of<std::int64_t>(draw, {0, 3});
    for (auto n = draw() % 4; n > 0; --n) cu.push_back(cu.back() + one_of<std::int64_t>(draw, {0, 2, 3, 3, 4, -1, 1LL << 40}));
    auto const any_word = [&] { return one_of<std::int64_t>(draw, {-1, 0, 0, 2, 9, 1LL << 41}); };
    ballast::loss_normaliser const n{.power = one_of(draw, {0.0, 0.5, 1.0, 0.3, 1.5}),
                                     .divisor = static_cast<loss_divisor>(draw() % 6),
                                     .scope = static_cast<ballast::loss_scope>(draw() % 3),
                                     .length = one_of<std::int64_t>(draw, {0, -7, 4096, 4096, 1LL << 62}),
                                     .count_empty = draw() % 2 == 0};
    ballast::gradient_path path{.ranks = one_of<std::int64_t>(draw, {1, 2, 2, 0}), .context = one_of<std::int64_t>(draw, {1, 3, 3, -1})};
    path.divides_by_tokens = draw() % 2 == 0;
    ballast::loss_totals totals{{any_word(), any_word(), any_word(), any_word(), any_word()}},
        part{{any_word(), any_word(), 0, any_word(), 0}};
    if (draw() % 2 == 0) {
      for (auto& c : counts) c = c < 0 || c >= 1LL << 40 ? 5 : c;
      auto good = n;
      good.power = n.power > 1 ? 0 : n.power;
      totals = part = ballast::loss_totals_of(counts, good);
    }
    auto const sent = send(on, counts);
    refused += expect_as_host([&] { return gpu::loss_totals_of(on, sent.data(), counts.size(), n); },
                              [&] { return ballast::loss_totals_of(counts, n); }, "totals" + at);
    refused += expect_as_host([&] { return gpu::loss_weights(on, sent.data(), counts.size(), totals, n, path, part); },
                              [&] { return ballast::loss_weights(counts, totals, n, path, part); }, "weights" + at);
    numbers const labels(9, 3);
    auto const in = send(on, labels), bounds = send(on, cu);
    auto const losses = send(on, std::vector<float>(9, 1.0F));
    auto const weights = send(on, std::vector<double>(cu.size(), 0.5));
    auto const size = cu.size() - 1;
    auto const host = [&] { return ballast::label_counts(labels, cu); };
    refused += expect_as_host([&] { return gpu::label_counts(on, in.data(), 9, bounds.data(), size); }, host, "label_counts" + at);
    expect_as_host([&] { return gpu::token_weights(on, weights.data(), in.data(), 9, bounds.data(), size); }, host, "token_weights" + at);
    expect_as_host([&] { return gpu::fixed_point_sums(on, losses.data(), 9, bounds.data(), size); }, host, "fixed_point_sums" + at);
    expect_as_host([&] { return gpu::weighted_loss(on, losses.data(), in.data(), 9, bounds.data(), size, weights.data()); }, host,
                   "weighted_loss" + at);
  }
  expect(refused > 300 && refused < 750, std::to_string(refused) + " of 900 refused");
}

}  // namespace

int main(int argc, char** argv) {
  test_nodes();
  host_row const long_row(1, 1500, 100'000, false);  // a million tokens and more
  return ballast_test::run_everywhere(
      argc, argv,
      part{"rows",
           [](auto on) {
             for (int distribution = 0; distribution < ballast_test::distributions; ++distribution)
               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U}) {
                 auto const at = " of " + std::to_string(n) + " in distribution " + std::to_string(distribution);
                 host_row const row(distribution, n, n < 1000 ? 5000 : 300, n % 2 == 1);
                 device_row const device(on, row);
                 test_counts(on, row, device, at);
                 test_loss<24>(on, row, device, at);
                 test_loss<44>(on, row, device, at);
                 test_narrow<gpu::bfloat16>(on, row, device, at);
                 test_narrow<gpu::float16>(on, row, device, at);
                 if (distribution == 0 && (n == 0 || n == 33 || n == 1000))
                   test_all_weights(on, ballast::label_counts(row.labels, row.cu), at);
               }
           }},
      part{"long_row",
           [&](auto on) {
             device_row const device(on, long_row);
             test_counts(on, long_row, device, " of a long row");
             test_loss<24>(on, long_row, device, " of a long row");
           }},
      part{"many_sequences",  // more than one block closes
           [](auto on) {
             host_row const row(0, 5000, 9, true);
             device_row const device(on, row);
             test_counts(on, row, device, " of many");
             test_loss<24>(on, row, device, " of many");
           }},
      part{"without_waiting", [&](auto on) { test_without_waiting(on, long_row); }},
      part{"pieces",
           [](auto on) {
             for (std::size_t const pieces : {1U, 7U, 64U}) test_pieces(on, host_row(2, 40, 5000, true), pieces);
             test_context_parallel(on);
           }},
      part{"weights",
           [](auto on) {
             auto const many = ballast_test::lengths_of(0, 100'000, 8192);
             for (auto const p : {0.0, 0.3, 0.5, 1.0})
               test_weights(on, many, ballast::loss_normaliser::length_power(p), {.ranks = 64}, " of 100000");
           }},
      part{"bad_data", [](auto on) {
             test_bad_rows(on);
             test_bad_counts(on);
             test_as_host(on);
           }});
}
