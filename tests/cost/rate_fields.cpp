// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/rate_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "support/catch.hpp"

namespace test_cost_rate_fields {

using namespace ballast;

TEST_CASE("rate_fields: every number of the rates is there once, under its own name", "[rate_fields]") {
  struct before_numbers {
    kernel_family family;
    bool fp8;
    std::string_view nearest;
    std::int64_t first;
  };
  CHECK(sizeof(kernel_rates) ==
        sizeof(before_numbers) + (rate_fields.size() - 1) * sizeof(std::int64_t) + 4 * sizeof(attention_rates) + sizeof(operator_bytes));
  CHECK(sizeof(operator_bytes) == operator_byte_fields.size() * sizeof(std::int64_t));
  CHECK(sizeof(attention_rates) == curve_fields.size() * sizeof(attention_curve));
  CHECK(attention_libraries.size() == kernel_rates{}.attention.size());
  kernel_rates rates{};
  std::int64_t number = 0;
  std::set<std::string_view> names;
  auto const fill = [&](auto const& fields, auto& of) {
    names.clear();
    for (auto const& f : fields) {
      of.*f.value = ++number;
      CHECK(names.insert(f.name).second);
    }
    for (auto i = number - static_cast<std::int64_t>(fields.size()); auto const& f : fields) CHECK(of.*f.value == ++i);  // no member twice
  };
  fill(rate_fields, rates);
  fill(operator_byte_fields, rates.bytes);
  CHECK((rate_fields.front().name == "gemm" && rates.gemm == 1 && rate_fields.back().name == "jitter"));
}

TEST_CASE("rate_fields: the rates of all devices are in range", "[rate_fields]") {
  for (auto const& on : devices)
    for (auto const family : {kernel_family::engine, kernel_family::compiled, kernel_family::eager}) {
      auto const rates = kernels_for(on, family);
      for (auto const& f : rate_fields) {
        CAPTURE(on.name, f.name);
        CHECK((rates.*f.value >= f.least() || (f.name == "gemm_fp8" && on.fp8_flops == 0)));
        CHECK(rates.*f.value <= f.most());
      }
      for (auto const& f : operator_byte_fields) CHECK(rates.bytes.*f.value <= f.most());
      for (auto const& a : rates.attention)
        for (auto const& c : curve_fields) CHECK(((a.*c.value).flops > 0 && (a.*c.value).flops <= most_attention_flops));
    }
}

}  // namespace test_cost_rate_fields
