// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// @brief Datasheets of accelerators, and the modelled time of a number of FLOPs at a share of the peak rate.

namespace ballast::inline v0_2 {

/// @brief Peak rates of one accelerator, as its datasheet prints them.
struct device {
  std::string_view name;          ///< name in lower case, as in "h100"
  std::int64_t bf16_flops = 0;    ///< dense bfloat16 FLOP/s of the tensor cores; datasheets also print twice as many, for sparse matrices
  std::int64_t memory_bytes = 0;  ///< bytes of memory; the GB of a datasheet are 10^9 bytes
  std::int64_t memory_bandwidth = 0;   ///< bytes/s of the memory
  std::int64_t link_bandwidth = 0;     ///< bytes/s of NVLink, both directions together
  std::int64_t network_bandwidth = 0;  ///< bytes/s to other nodes of the adapter that a DGX system has for each accelerator, one direction
  std::int64_t fp8_flops = 0;          ///< dense FLOP/s in 8 bits; 0: the tensor cores have no such format
  std::int64_t multiprocessors = 0;    ///< number of streaming multiprocessors; 0: unknown
  std::int64_t per_node = 8;           ///< number of devices that NVLink joins

  friend constexpr bool operator==(device const&, device const&) = default;
};

/// @brief Known accelerators, all on SXM boards. Sources: NVIDIA's datasheets of the V100 32GB, A100 80GB, H100, H200 and HGX B200. A V100
/// has no bfloat16: its rate is that of float16. For the network: NVIDIA's DGX-1 (four adapters of 100 Gb/s for eight), and reference
/// architectures of the DGX SuperPOD with A100 (200 Gb/s for each) and of the DGX BasePOD with H100, H200 and B200 (400 Gb/s for each).
/// Behind them, variants: the A100 40GB; the H100 of Meta's Grand Teton servers at 500 W with HBM2e (torchtitan's benchmarks); the H800,
/// whose NVLink is slower; HGX B300, GB200 NVL72 and GB300 NVL72, as NVIDIA's pages print them.
inline constexpr std::array devices{
    device{.name = "v100",
           .bf16_flops = 125'000'000'000'000,
           .memory_bytes = 32'000'000'000,
           .memory_bandwidth = 900'000'000'000,
           .link_bandwidth = 300'000'000'000,
           .network_bandwidth = 6'250'000'000,
           .multiprocessors = 80},
    device{.name = "a100",
           .bf16_flops = 312'000'000'000'000,
           .memory_bytes = 80'000'000'000,
           .memory_bandwidth = 2'039'000'000'000,
           .link_bandwidth = 600'000'000'000,
           .network_bandwidth = 25'000'000'000,
           .multiprocessors = 108},
    device{.name = "h100",
           .bf16_flops = 989'400'000'000'000,
           .memory_bytes = 80'000'000'000,
           .memory_bandwidth = 3'350'000'000'000,
           .link_bandwidth = 900'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 1'978'900'000'000'000,
           .multiprocessors = 132},
    device{.name = "h200",
           .bf16_flops = 989'400'000'000'000,
           .memory_bytes = 141'000'000'000,
           .memory_bandwidth = 4'800'000'000'000,
           .link_bandwidth = 900'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 1'978'900'000'000'000,
           .multiprocessors = 132},
    device{.name = "b200",
           .bf16_flops = 2'250'000'000'000'000,
           .memory_bytes = 180'000'000'000,
           .memory_bandwidth = 8'000'000'000'000,
           .link_bandwidth = 1'800'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 4'500'000'000'000'000,
           .multiprocessors = 148},
    device{.name = "a100-40gb",
           .bf16_flops = 312'000'000'000'000,
           .memory_bytes = 40'000'000'000,
           .memory_bandwidth = 1'555'000'000'000,
           .link_bandwidth = 600'000'000'000,
           .network_bandwidth = 25'000'000'000,
           .multiprocessors = 108},
    device{.name = "h100-500w",
           .bf16_flops = 989'400'000'000'000,
           .memory_bytes = 96'000'000'000,
           .memory_bandwidth = 2'400'000'000'000,
           .link_bandwidth = 900'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 1'978'900'000'000'000,
           .multiprocessors = 132},
    device{.name = "h800",
           .bf16_flops = 989'400'000'000'000,
           .memory_bytes = 80'000'000'000,
           .memory_bandwidth = 3'350'000'000'000,
           .link_bandwidth = 400'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 1'978'900'000'000'000,
           .multiprocessors = 132},
    device{.name = "b300",
           .bf16_flops = 2'250'000'000'000'000,
           .memory_bytes = 288'000'000'000,
           .memory_bandwidth = 8'000'000'000'000,
           .link_bandwidth = 1'800'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 4'500'000'000'000'000,
           .multiprocessors = 148},
    device{.name = "gb200",
           .bf16_flops = 2'500'000'000'000'000,
           .memory_bytes = 186'000'000'000,
           .memory_bandwidth = 8'000'000'000'000,
           .link_bandwidth = 1'800'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 5'000'000'000'000'000,
           .multiprocessors = 148,
           .per_node = 72},
    device{.name = "gb300",
           .bf16_flops = 2'500'000'000'000'000,
           .memory_bytes = 288'000'000'000,
           .memory_bandwidth = 8'000'000'000'000,
           .link_bandwidth = 1'800'000'000'000,
           .network_bandwidth = 50'000'000'000,
           .fp8_flops = 5'000'000'000'000'000,
           .multiprocessors = 148,
           .per_node = 72},
};

/// @brief Finds an accelerator by name.
/// @param name  one of `devices`, as in "h100"
/// @return its datasheet
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr device const& device_named(std::string_view name) { return find_named(devices, name, "device"); }

/// @brief Whether an accelerator is a Hopper or later: libraries then hold larger workspaces.
/// @param on  the accelerator
/// @return false for the V100 and A100s, by name; true for all others
[[nodiscard]] constexpr bool is_hopper(device const& on) noexcept { return on.name != "v100" && !on.name.starts_with("a100"); }

/// @brief Milliseconds that a number of FLOPs takes at a share of the peak rate.
/// @param flops  bfloat16 FLOPs, not negative
/// @param on     the accelerator
/// @param mfu    model FLOPs utilisation: the share of the peak rate that is reached, in (0, 1]
/// @return milliseconds, as a `double`: use it in reports, not for decisions of planners
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr double modelled_ms(double flops, device const& on, double mfu) {
  require(flops >= 0, [&] { return "flops = " + std::to_string(flops) + " must not be negative"; });
  require(on.bf16_flops > 0, [&] { return "the device \"" + std::string(on.name) + "\" has no peak rate"; });
  require(mfu > 0 && mfu <= 1, [&] { return "mfu = " + std::to_string(mfu) + " must be in (0, 1]"; });
  return flops / (static_cast<double>(on.bf16_flops) * mfu) * 1000;
}

}  // namespace ballast::inline v0_2
