// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include <chrono>
#include <future>
#include <stop_token>

namespace ballast_python {

/// Runs `body(stop_token)` on a thread of its own, without the GIL. On Ctrl-C it is asked to stop, and KeyboardInterrupt is raised.
template <class Body>
auto interruptible(Body const& body) {
  std::stop_source stop;
  auto result = std::async(std::launch::async, [&] { return body(stop.get_token()); });
  for (;;) {
    {
      nanobind::gil_scoped_release const free;
      if (result.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready) break;
    }
    if (PyErr_CheckSignals() == 0) continue;
    nanobind::python_error const raised;
    stop.request_stop();
    {
      nanobind::gil_scoped_release const free;
      result.wait();
    }
    throw raised;
  }
  return result.get();
}

/// Runs `body()` without the GIL.
template <class Body>
auto without_gil(Body const& body) {
  nanobind::gil_scoped_release const free;
  return body();
}

}  // namespace ballast_python
