// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/label_counts.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace test_loss_label_counts {

using namespace ballast;
using ballast_test::refusal;
using counts = std::vector<std::int64_t>;

TEST_CASE("label_counts: the first label of a sequence counts only where the labels are shifted already") {
  std::vector<std::int64_t> const labels{5, -100, 7, 8, 9, -100, -100, 1, 2};  // the last one is padding of the row
  std::vector<std::int32_t> const cu{0, 3, 4, 4, 8};
  CHECK(label_counts(labels, cu) == counts{1, 0, 0, 1});
  CHECK(label_counts(labels, cu, {.shift = label_shift::done}) == counts{2, 1, 0, 2});
  CHECK(label_counts(labels, cu, {.ignore = 9, .shift = label_shift::done}) == counts{3, 1, 0, 3});
}

TEST_CASE("label_counts: the counts of pieces add up to those of the sequences") {
  std::array<std::int32_t, 8> const labels{1, -100, 3, 4, -100, -100, 7, 8};
  std::array<std::int64_t, 3> const cu{0, 4, 8};
  auto const whole = label_counts(labels, cu, {.shift = label_shift::done});
  counts sum(2);
  for (int piece = 0; piece < 2; ++piece) {  // each of two ranks holds two tokens of each sequence
    std::vector<std::int32_t> mine;
    for (auto t : {0, 1, 4, 5}) mine.push_back(labels[static_cast<std::size_t>(t + 2 * piece)]);
    auto const part = label_counts(mine, counts{0, 2, 4}, {.shift = label_shift::done});
    for (std::size_t i = 0; i < 2; ++i) sum[i] += part[i];
  }
  CHECK(sum == whole);
}

TEST_CASE("label_counts: no sequence, labels of any width, and a label that no type holds") {
  CHECK(label_counts(std::vector<std::int64_t>{}, counts{0}).empty());
  CHECK(label_counts(std::vector<std::int8_t>{-100, 4, -100}, counts{0, 3}) == counts{1});
  CHECK(label_counts(std::vector<std::uint8_t>{156, 156}, counts{0, 2}) == counts{1});  // 156 is -100 only as a signed byte
}

TEST_CASE("label_counts: bad input is named, and nothing is written") {
  std::vector<std::int64_t> const labels{1, 2, 3};
  counts out{-7, -7};
  auto const into = [&](counts const& cu) { return refusal([&] { return label_counts(labels, cu, std::span<std::int64_t>(out)), 0; }); };
  CHECK(into({}) == "label_counts: out has 2 elements, 0 are written");
  CHECK(into({0, 3}) == "label_counts: out has 2 elements, 1 are written");
  CHECK(into({1, 2, 3}) == "cu_seqlens must start with 0");
  CHECK(into({0, 2, 1}) == "cu_seqlens[2] = 1 is below its predecessor 2");
  CHECK(into({0, 2, 4}) == "cu_seqlens ends at 4, but there are 3 labels");
  CHECK(out == counts{-7, -7});
  CHECK(into({0, 2, 3}) == "accepted");
  CHECK(refusal([&] { return label_counts(labels, counts{}); }) == "cu_seqlens must start with 0");
}

}  // namespace test_loss_label_counts
