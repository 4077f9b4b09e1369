// SPDX-License-Identifier: Apache-2.0
// Shows that the pretended device finds what it is for. Each fault is right on a plain backend; here it ends the program or changes the
// result: planted_faults NAME, and CTest expects the report.
#include "backends.hpp"

#include <ballast/gpu/core/call.cuh>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

ballast_test::on_pretended const on{};

// A result is read where it lies, on the device.
void host_read() {
  ballast::gpu::array<std::uint32_t, ballast_test::on_pretended> const there(on, 8);
  (void)on.fill(there.data(), 0, 32);
  std::printf("%u\n", *there.data());
}

// A queued copy is read before the host has waited for it.
void early_read() {
  ballast::gpu::array<std::uint32_t, ballast_test::on_pretended> const there(on, 8);
  void* here = nullptr;
  (void)on.allocate_host(32, here);
  (void)on.queue_download(here, there.data(), 32);
  std::printf("%u\n", *static_cast<std::uint32_t*>(here));
}

// The source of a queued copy is used for something else at once.
void early_write() {
  ballast::gpu::array<std::uint32_t, ballast_test::on_pretended> const there(on, 1);
  void* here = nullptr;
  (void)on.allocate_host(4, here);
  *static_cast<std::uint32_t*>(here) = 1;
  (void)on.queue_upload(there.data(), here, 4);
  *static_cast<std::uint32_t*>(here) = 2;
  (void)on.synchronize();
}

// Lanes read what other lanes of the same phase write.
struct racing_block {
  std::uint32_t* out;
  template <class Block>
  void operator()(Block& block, std::size_t) const {
    auto* const shared = block.template shared<std::uint32_t>();
    block.each([&](unsigned lane) { shared[lane] = 0; });
    block.each([&](unsigned lane) { shared[lane] = lane == 0 ? 1 : shared[lane - 1] + 1; });
    block.each([&](unsigned lane) { out[lane] = shared[lane]; });
  }
};
void race() {
  ballast::gpu::array<std::uint32_t, ballast_test::on_pretended> const there(on, 64);
  for (int repeat = 0; repeat < 8; ++repeat) {
    (void)on.blocks(1, 64, 64 * sizeof(std::uint32_t), racing_block{there.data()});
    auto const found = ballast::gpu::fetch(on, there);
    for (std::size_t i = 0; i < 64; ++i)
      if (found[i] != i + 1) return static_cast<void>(std::puts("another order, another result"));
  }
}

// Memory is read that nothing was written to.
void unwritten() {
  ballast::gpu::array<std::uint32_t, ballast_test::on_pretended> const there(on, 1);
  if (ballast::gpu::fetch(on, there)[0] != 0) std::puts("fresh memory is not zero");
}

}  // namespace

int main(int, char** arguments) {
  std::string const name = arguments[1];
  if (name == "host_read") host_read();
  if (name == "early_read") early_read();
  if (name == "early_write") early_write();
  if (name == "race") race();
  if (name == "unwritten") unwritten();
  (void)on.synchronize();
}
