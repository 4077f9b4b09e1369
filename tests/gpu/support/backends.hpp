// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_host.cuh>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__CUDACC__)
#include <ballast/gpu/core/on_stream.cuh>
#elif defined(BALLAST_PRETENDED_DEVICE)
#include "pretended_device.hpp"
#else
#include <ballast/gpu/core/on_thrust.cuh>

#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/system/tbb/execution_policy.h>
#endif

/// @file
/// @brief What the tests of the twins share. Each is one source that is built three times: as .cpp for the plain backend and
/// Thrust's host systems, as .cpp for the pretended device (pretended_device.hpp), and as .cu for CUDA, where it runs on the default stream
/// and on one of its own.

namespace ballast_test {

/// @brief Fails the test. @param holds what must be true @param what it is, for the message
inline void expect(bool holds, std::string const& what) {
  if (!holds) throw std::runtime_error(what);
}

/// @brief Fails the test unless the call is refused with this sentence.
template <class Call>
void expect_refusal(std::string const& sentence, Call const& call) {
  try {
    call();
  } catch (ballast::invalid_input const& e) {
    return expect(e.what() == sentence, "'" + std::string(e.what()) + "' instead of '" + sentence + "'");
  }
  throw std::runtime_error("accepted instead of '" + sentence + "'");
}

/// @brief Fails the test unless all elements are equal; names the first that is not.
template <class A, class B>
void expect_equal(A const& found, B const& wanted, std::string const& what) {
  expect(found.size() == wanted.size(),
         what + ": " + std::to_string(found.size()) + " elements instead of " + std::to_string(wanted.size()));
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != wanted[i])
      throw std::runtime_error(what + "[" + std::to_string(i) + "] = " + std::to_string(found[i]) + " instead of " +
                               std::to_string(wanted[i]));
}

/// @brief Runs a test on every backend of this build. @param test callable with a backend and its name @return the program's exit status
template <class Test>
[[nodiscard]] int run_everywhere(Test const& test) {
  auto const run = [&](auto on, char const* name) {
    try {
      test(on, std::string(name));
      return true;
    } catch (std::exception const& e) {
      std::printf("%s: %s\n", name, e.what());
      return false;
    }
  };
#if defined(__CUDACC__)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  cudaStream_t own = nullptr;
  ballast::gpu::check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  auto passed = run(ballast::gpu::on_stream{}, "default stream");
  passed = run(ballast::gpu::on_stream{own}, "own stream") && passed;
  cudaStreamDestroy(own);
  return passed ? 0 : 1;
#elif defined(BALLAST_PRETENDED_DEVICE)
  auto& device = pretended_device::get();
  auto passed = true;
  for (auto const seed : {std::uint64_t{1}, std::uint64_t{2}}) {
    device.seed(seed);
    passed = run(on_pretended{}, ("pretended device, seed " + std::to_string(seed)).c_str()) && passed;
    device.run_until(device.queued());
    if (passed && device.arrays() != 0) break_rule("memory is not freed");
  }
  return passed ? 0 : 1;
#else
  auto passed = run(ballast::gpu::on_host{}, "plain");
  passed = run(ballast::gpu::on_thrust{thrust::cpp::par}, "Thrust CPP") && passed;
  passed = run(ballast::gpu::on_thrust{thrust::omp::par}, "Thrust OMP") && passed;
  passed = run(ballast::gpu::on_thrust{thrust::tbb::par}, "Thrust TBB") && passed;
  return passed ? 0 : 1;
#endif
}

}  // namespace ballast_test
