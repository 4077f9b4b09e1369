// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/transformer.hpp>
#include <ballast/methods/ckbert.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>

namespace test_methods_ckbert {

using namespace ballast;

TEST_CASE("ckbert: the parameters of the encoders, to the last") {
  STATIC_REQUIRE(parameters(ckbert::encoder("bert-base")) == 101'678'592);
  STATIC_REQUIRE(parameters(ckbert::encoder("bert-large")) == 324'474'880);
  STATIC_REQUIRE(parameters(ckbert::encoder("ckbert-huge")) == 1'253'171'200);
  CHECK(ballast_test::refusal([] { return ckbert::encoder("ckbert-base"); }) ==
        "no encoder \"ckbert-base\"; there are bert-base, bert-large, ckbert-huge");
}

TEST_CASE("ckbert: with a decoder of its own, huge has the published 1.3 billion parameters, in a file of 5.2 GB") {
  auto const with_head = [](char const* name) {
    auto const& model = ckbert::encoder(name);
    return parameters(model) + ckbert::mlm_head_parameters(model, true);
  };
  CHECK(with_head("bert-base") == 118'519'690);
  CHECK(with_head("bert-large") == 347'184'778);
  CHECK(with_head("ckbert-huge") == 1'300'908'800);
  CHECK(4 * with_head("ckbert-huge") / 100'000'000 == 52);
  auto untied = ckbert::encoder("ckbert-huge");  // the library's own count of a decoder
  untied.tied = false;
  CHECK(parameters(untied) - parameters(ckbert::encoder("ckbert-huge")) ==
        ckbert::mlm_head_parameters(untied, true) - ckbert::mlm_head_parameters(untied, false));
}

TEST_CASE("ckbert: attention of an encoder costs twice that of a decoder, and little at 128 tokens") {
  auto const& base = ckbert::encoder("bert-base");
  auto causal = base;
  causal.causal = true;
  auto const of_pairs = [](transformer const& model, std::int64_t n) {
    auto const cost = sample_cost(model);
    return static_cast<double>(cost.flops_per_unit) * static_cast<double>(cost(2 * n) - 2 * cost(n));  // 2 n^2 pairs
  };
  CHECK(std::fabs(of_pairs(base, 4096) / of_pairs(causal, 4096) - 2) < 0.01);
  auto const cost = sample_cost(base);
  CHECK(of_pairs(base, 128) / 2 * 20 < static_cast<double>(cost.flops_per_unit) * static_cast<double>(cost(128)));
}

}  // namespace test_methods_ckbert
