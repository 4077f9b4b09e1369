// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_host.cuh>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#if defined(__CUDACC__)
#include <ballast/gpu/core/on_stream.cuh>
#elif defined(BALLAST_PRETENDED_DEVICE)
#include "pretended_device.hpp"
#elif defined(BALLAST_LANES)
#include "on_lanes.hpp"
#else
#include <ballast/gpu/core/on_thrust.cuh>

#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/system/tbb/execution_policy.h>
#endif

/// @file
/// @brief What the tests of the twins share. Each is one source that is built four times: as .cpp for the plain backend and Thrust's host
/// systems, for the pretended device (pretended_device.hpp) and for lanes that are threads (on_lanes.hpp), and as .cu for CUDA, where it
/// runs on the default stream and on one of its own, directly and captured in CUDA graphs.

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

/// @brief What a call throws, or "accepted".
template <class Call>
[[nodiscard]] std::string refusal(Call const& call) {
  try {
    static_cast<void>(call());
  } catch (std::exception const& e) {
    return e.what();
  }
  return "accepted";
}

/// @brief Fails the test unless a twin throws what its host throws, or accepts what it accepts. @return whether they refuse
template <class Twin, class Host>
bool expect_as_host(Twin const& twin, Host const& host, std::string const& what) {
  auto const found = refusal(twin), wanted = refusal(host);
  expect(found == wanted, what + ": \"" + found + "\" instead of \"" + wanted + "\"");
  return wanted != "accepted";
}

/// @brief Fails the test unless a twin and its host refuse with the same sentence.
template <class Twin, class Host>
void expect_same_refusal(Twin const& twin, Host const& host, std::string const& what) {
  expect(expect_as_host(twin, host, what), what + ": accepted");
}

/// @brief One of some values. @param draw the generator @param values at least one
template <class T>
[[nodiscard]] T one_of(ballast::splitmix64& draw, std::initializer_list<T> values) {
  return values.begin()[draw() % values.size()];
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

/// @brief Whether a twin waits, so that no graph can hold it.
[[nodiscard]] inline bool waits(std::string_view twin) {
  return twin == "best_fit_decreasing" || twin == "pack_portfolio" || twin == "pack_levels";
}

#if defined(__CUDACC__)
/// @brief The CUDA backend of the tests. If it captures, each call of a twin becomes a CUDA graph, which is launched twice.
struct on_device : ballast::gpu::on_stream {
  bool captures = false;
};

/// @brief What the tests and the forms that allocate find instead of `gpu::call`.
template <class Twin>
void call(on_device const& on, char const* what, Twin const& twin) {
  if (!on.captures || waits(what)) return ballast::gpu::call(on, what, twin);
  std::size_t bytes = 0;
  ballast::gpu::check(twin(nullptr, bytes), what);
  ballast::gpu::array<std::byte, on_device> const temp(on, bytes);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ballast::gpu::check(on.synchronize(), "synchronize");
  ballast::gpu::check(cudaStreamBeginCapture(on.stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  auto const queued = twin(static_cast<void*>(temp.data()), bytes);
  ballast::gpu::check(cudaStreamEndCapture(on.stream, &graph), what);
  ballast::gpu::check(queued, what);
  ballast::gpu::check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
  for (int launch = 0; launch < 2; ++launch) ballast::gpu::check(cudaGraphLaunch(ready, on.stream), "cudaGraphLaunch");
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}
#elif defined(BALLAST_PRETENDED_DEVICE)
/// @brief What the tests and the forms that allocate find instead of `gpu::call`: as in a CUDA graph that is launched twice, if `on`
/// captures.
template <class Twin>
void call(on_pretended const& on, char const* what, Twin const& twin) {
  if (!on.captures || waits(what)) return ballast::gpu::call(on, what, twin);
  std::size_t bytes = 0;
  ballast::gpu::check(twin(nullptr, bytes), what);
  ballast::gpu::array<std::byte, on_pretended> const temp(on, bytes);
  auto& device = pretended_device::get();
  device.begin_capture();
  auto const queued = twin(static_cast<void*>(temp.data()), bytes);
  auto const graph = device.end_capture();
  ballast::gpu::check(queued, what);
  for (int launch = 0; launch < 2; ++launch)
    for (auto const& work : graph) device.queue(work);
}
#endif

/// @brief A named part of a test. @tparam Test callable with a backend
template <class Test>
struct part {
  char const* name;
  Test run;
};

/// @brief Runs every part on every backend of this build, or the one part that the command line names; `--list` prints their names.
/// @param argc number of arguments @param argv the arguments of the program @param parts the parts @return the program's exit status
template <class... Test>
[[nodiscard]] int run_everywhere(int argc, char** argv, part<Test> const&... parts) {
  std::string const wanted = argc > 1 ? argv[1] : "";
  if (wanted == "--list") return (std::puts(parts.name), ...), 0;
  if (!wanted.empty() && ((wanted != parts.name) && ...)) {
    std::printf("there is no part '%s'; --list prints those that there are\n", wanted.c_str());
    return 2;
  }
  auto passed = true;
  auto const run = [&](auto on, std::string const& backend, auto const& each) {
    if (!wanted.empty() && wanted != each.name) return;
    try {
      each.run(on);
    } catch (std::exception const& e) {
      std::printf("%s, %s: %s\n", each.name, backend.c_str(), e.what());
      passed = false;
    }
  };
  auto const run_all = [&](auto on, std::string const& backend) { (run(on, backend, parts), ...); };
#if defined(__CUDACC__)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no CUDA device: skipped");
    return 77;
  }
  cudaStream_t own = nullptr;
  ballast::gpu::check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  run_all(on_device{}, "default stream");
  run_all(on_device{{own}}, "own stream");
  run_all(on_device{{own}, true}, "captured");  // last: nothing is loaded while a graph is captured
  cudaStreamDestroy(own);
#elif defined(BALLAST_PRETENDED_DEVICE)
  auto& device = pretended_device::get();
  for (auto const seed : {std::uint64_t{1}, std::uint64_t{2}}) {
    device.seed(seed);
    run_all(on_pretended{.captures = seed == 2}, "pretended device, seed " + std::to_string(seed));
    device.run_until(device.queued());
  }
#elif defined(BALLAST_LANES)
  run_all(on_lanes{}, "lanes");
#else
  run_all(ballast::gpu::on_host{}, "plain");
  run_all(ballast::gpu::on_thrust{thrust::cpp::par}, "Thrust CPP");
  run_all(ballast::gpu::on_thrust{thrust::omp::par}, "Thrust OMP");
  run_all(ballast::gpu::on_thrust{thrust::tbb::par}, "Thrust TBB");
#endif
  return passed ? 0 : 1;
}

}  // namespace ballast_test
