// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace test_core_hash {

namespace {

// FNV-1a as published, byte by byte.
constexpr std::uint64_t bytewise(std::string_view bytes) {
  std::uint64_t h = 14695981039346656037U;
  for (char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return h;
}
void little_endian(std::string& bytes, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
}

}  // namespace

// Vectors of draft-eastlake-fnv.
static_assert(bytewise("") == 0xcbf29ce484222325U && bytewise("a") == 0xaf63dc4c8601ec8cU && bytewise("foobar") == 0x85944171f73967e8U);

TEST_CASE("fnv1a: appends eight little-endian bytes") {
  ballast::fnv1a h;
  std::string bytes;
  CHECK(h.value() == bytewise(bytes));
  for (int bits = 0; bits < 64; ++bits)
    for (std::uint64_t value : {std::uint64_t{1} << bits, (std::uint64_t{1} << bits) - 1, std::uint64_t{0xa5} << bits}) {
      h.append(value);
      little_endian(bytes, value);
      REQUIRE(h.value() == bytewise(bytes));
    }
}

TEST_CASE("hash: offsets, then members, whatever the width of the index") {
  ballast::groups<> plan;
  ballast::groups<std::uint64_t> wide;
  for (auto const& group : std::vector<std::vector<std::uint32_t>>{{4, 1}, {0, 2, 300}}) {
    plan.push_back(group);
    wide.push_back(std::vector<std::uint64_t>(group.begin(), group.end()));
  }
  std::string bytes;
  for (auto v : {0, 2, 5, 4, 1, 0, 2, 300}) little_endian(bytes, static_cast<std::uint64_t>(v));
  CHECK(ballast::hash(plan) == bytewise(bytes));
  CHECK(ballast::hash(wide) == bytewise(bytes));
  CHECK(ballast::hash(plan) == 0xf9a0a1d4327b766eU);  // golden
  auto swapped = plan;
  std::swap(swapped.members[0], swapped.members[1]);
  CHECK(ballast::hash(swapped) != ballast::hash(plan));
}

}  // namespace test_core_hash
