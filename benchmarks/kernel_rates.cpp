// SPDX-License-Identifier: Apache-2.0
// Prints a device's datasheet and the rates of a preset as JSON, and the times of kernels by these rates:
//
//     bench_kernel_rates h100 te-bf16 [KEY=NUMBER...] < kernels.txt
//
// KEY is a number of `kernel_rates`, as in "gemm", "bytes.norm" or "attention.flash2.forward.half_length", that NUMBER replaces. A line of
// the standard input is one kernel:
//
//     gemm M N K [GROUPS]       matrix products in 16 bits; also gemm_fp8, experts and head
//     bytes NUMBER              an operator that reads and writes so much
//     attention LIBRARY forward|backward HEADS WIDTH TOKENS SQUARES
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/rate_fields.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

namespace {

/// Calls `visit` with the name and the place of each number.
template <class Visit>
void each_number(ballast::kernel_rates& of, Visit const& visit) {
  for (auto const& f : ballast::rate_fields) visit(std::string(f.name), of.*f.value);
  for (auto const& f : ballast::operator_byte_fields) visit("bytes." + std::string(f.name), of.bytes.*f.value);
  for (std::size_t l = 0; l < of.attention.size(); ++l)
    for (auto const& c : ballast::curve_fields) {
      auto const name = "attention." + std::string(ballast::attention_libraries[l]) + "." + std::string(c.name);
      visit(name + ".flops", (of.attention[l].*c.value).flops);
      visit(name + ".half_length", (of.attention[l].*c.value).half_length);
    }
}

void replace(ballast::kernel_rates& in, std::string const& pair) {
  auto const key = pair.substr(0, pair.find('='));
  std::istringstream text(pair.substr((std::min)(key.size() + 1, pair.size())));
  auto found = false;
  each_number(in, [&](std::string const& name, std::int64_t& value) { found = found || (name == key && text >> value); });
  ballast::require(found && text.eof(), [&] { return "\"" + pair + "\" is no KEY=NUMBER of kernel_rates"; });
}

/// Picoseconds.
std::int64_t time_of(std::string const& line, ballast::device const& on, ballast::kernel_rates const& rates) {
  std::istringstream words(line);
  auto const bad = [&] { return "no kernel \"" + line + "\": the head of benchmarks/kernel_rates.cpp says what there is"; };
  std::string kind, library, pass;
  words >> kind;
  if (kind == "attention") {
    ballast::attention_shape shape;
    ballast::batch_shape batch;
    words >> library >> pass >> shape.heads >> shape.qk_width >> batch.tokens >> batch.squares;
    shape.v_width = shape.qk_width;
    auto const& names = ballast::attention_libraries;
    auto const l = std::find(names.begin(), names.end(), library);
    ballast::require(words && words.eof() && l != names.end() && (pass == "forward" || pass == "backward"), bad);
    auto const time = ballast::attention_time(shape, batch, on, rates, static_cast<ballast::attention_library>(l - names.begin()));
    return pass == "forward" ? time.forward : time.backward;
  }
  if (kind == "bytes") {
    std::int64_t bytes = 0;
    words >> bytes;
    ballast::require(words && words.eof(), bad);
    return ballast::memory_time(bytes, on, rates);
  }
  ballast::gemm_shape shape{.fp8 = kind == "gemm_fp8"};
  words >> shape.m >> shape.n >> shape.k;
  ballast::require(words && (words.eof() || words >> shape.groups) && words.eof() &&
                       (kind == "gemm" || kind == "gemm_fp8" || kind == "experts" || kind == "head"),
                   bad);
  return ballast::gemm_time(shape, on, rates, kind == "experts" ? rates.expert_gemm : kind == "head" ? rates.head : 1000);
}

}  // namespace

int main(int argc, char** argv) try {
  ballast::require(argc >= 3, [] { return std::string("give a device and its kernels, as in: h100 te-bf16"); });
  auto const& on = ballast::device_named(argv[1]);
  auto rates = ballast::kernels_named(std::string(argv[1]) + "-" + argv[2]);
  for (int i = 3; i < argc; ++i) replace(rates, argv[i]);
  std::cout << "{\"device\": {\"bf16_flops\": " << on.bf16_flops << ", \"fp8_flops\": " << on.fp8_flops
            << ", \"memory_bandwidth\": " << on.memory_bandwidth << "}, \"rates\": {";
  auto const* comma = "";
  each_number(rates, [&](std::string const& name, std::int64_t value) {
    std::cout << comma << '"' << name << "\": " << value;
    comma = ", ";
  });
  std::cout << "}, \"ps\": [";
  comma = "";
  for (std::string line; std::getline(std::cin, line); comma = ", ") std::cout << comma << time_of(line, on, rates);
  std::cout << "]}\n";
  return 0;
} catch (ballast::invalid_input const& e) {
  std::cerr << e.what() << '\n';
  return 2;
}
