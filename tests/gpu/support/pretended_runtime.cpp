// SPDX-License-Identifier: Apache-2.0
#include "pretended_runtime.hpp"

#include <cuda_runtime_api.h>

#include <utility>

namespace {

auto& device = ballast_test::pretended_runtime::get();

cudaError_t refuse(std::string rule) {
  if (device.broken.empty()) device.broken = std::move(rule);
  return cudaErrorInvalidValue;
}

}  // namespace

ballast_test::pretended_runtime& ballast_test::pretended_runtime::get() {
  static pretended_runtime one;
  return one;
}

extern "C" {

cudaError_t cudaDeviceGetAttribute(int* out, cudaDeviceAttr attribute, int) {
  *out = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? static_cast<int>(device.most) : 1;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* out, void const* kernel) {
  *out = {};
  out->sharedSizeBytes = device.statically;
  out->maxDynamicSharedSizeBytes = static_cast<int>(device.limit(kernel));
  out->ptxVersion = out->binaryVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(void const* kernel, cudaFuncAttribute attribute, int value) {
  auto const asked = static_cast<std::size_t>(value);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (asked + device.statically > device.most) return refuse("a grant of " + std::to_string(value) + " bytes is more than there is");
  if (asked < device.limit(kernel)) return refuse("a grant of " + std::to_string(value) + " bytes takes some from another launch");
  device.granted[kernel] = asked;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void const* kernel, void**) {
  auto const asked = config->dynamicSmemBytes, limit = device.limit(kernel);
  if (asked > limit) return refuse("a launch asks for " + std::to_string(asked) + " bytes where " + std::to_string(limit) + " are granted");
  ++device.launches;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* out) { return *out = 0, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t) { return cudaSuccess; }

// What nvcc's code calls when the program starts, and in kernels' stubs, which are never called.
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd() {}
void __cudaUnregisterFatBinary() {}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
char __cudaInitModule(void**) { return 1; }
int __cudaGetKernel() { return 0; }
int __cudaLaunchKernel() { return 0; }
int __cudaPopCallConfiguration() { return 0; }

}  // extern "C"
