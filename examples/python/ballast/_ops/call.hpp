// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

// What all operators share: tensors that are checked, and a twin that is called for them.

namespace ballast_torch {

namespace gpu = ballast::gpu;
using at::Tensor;
using maybe_tensor = std::optional<Tensor>;

template <class... Parts>
void demand(bool ok, Parts const&... sentence) {
  TORCH_CHECK_VALUE(ok, sentence...);
}

// Calls f; a sentence of the library becomes a ValueError of Python.
template <class F>
auto in_sentences(F const& f) {
  try {
    return f();
  } catch (ballast::invalid_input const& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

// One call of an operator. `Device` has a member `on`, the backend of the device of a tensor, which is the current one as long as it lives.
template <class Device>
class call {
 public:
  // `first` is the tensor whose device all others must share.
  call(char const* name, char const* argument, Tensor const& first) : name_(name), argument_(argument), first_(first), device_(first) {}

  [[nodiscard]] auto on() const { return device_.on; }

  // The tensor, if it is on the device; copied if its elements are not neighbours.
  [[nodiscard]] Tensor here(char const* argument, Tensor const& given) const {
    demand(given.device() == first_.device(), name_, ": ", argument, " is on ", given.device(), " and ", argument_, " on ", first_.device(),
           ": move one of them");
    return given.contiguous();
  }
  // The same for an array.
  [[nodiscard]] Tensor array(char const* argument, Tensor const& given, std::int64_t dimensions = 1) const {
    demand(given.dim() == dimensions, name_, ": ", argument, " has ", given.dim(), " dimensions: it must have ", dimensions);
    return here(argument, given);
  }
  // The same for cumulative lengths and the like, which have an entry before the first of what they count.
  [[nodiscard]] Tensor bounds(char const* argument, Tensor const& given) const {
    demand(given.numel() > 0, name_, ": ", argument, " is empty: it begins with a 0");
    return array(argument, given);
  }
  // The same as words of 64 bits. PyTorch's are signed; the twins' are not, and reach no number at which they differ.
  [[nodiscard]] Tensor words(char const* argument, Tensor const& given) const {
    return visit(argument, given, [&](auto const*) { return array(argument, given).to(at::kLong); });
  }
  // The same of indices.
  [[nodiscard]] Tensor index_words(char const* argument, Tensor const& given) const {
    return without_sign(argument, words(argument, given));
  }
  // The tensor, which the twins read as unsigned: where it has a negative entry, `run` shows that as it was given.
  [[nodiscard]] Tensor without_sign(char const* argument, Tensor const& given) const {
    unsigned_.emplace_back(argument, given);
    return given;
  }
  [[nodiscard]] Tensor empty(at::IntArrayRef shape, at::ScalarType type = at::kLong) const {
    return at::empty(shape, first_.options().dtype(type));
  }
  std::size_t size(char const* argument, std::int64_t given) const {
    demand(given >= 0, name_, ": ", argument, " = ", given, " must not be negative");
    return static_cast<std::size_t>(given);
  }

  // Calls f with the elements as integers of the tensor's type.
  template <class F>
  auto visit(char const* argument, Tensor const& given, F const& f) const {
    demand(given.scalar_type() == at::kInt || given.scalar_type() == at::kLong, name_, ": ", argument, " is ", given.scalar_type(),
           ": it must be int32 or int64");
    return given.scalar_type() == at::kInt ? f(given.const_data_ptr<std::int32_t>()) : f(given.const_data_ptr<std::int64_t>());
  }

  // Queues write(temp, bytes, bad). If `check`, waits, and where that found bad data, by_value() throws the sentence of the host.
  template <class Write, class ByValue>
  void run(bool check, Write const& write, ByValue const& by_value) const {
    gpu::array<std::uint64_t, decltype(device_.on)> const bad(on(), 1);
    try {
      gpu::call(on(), name_, [&](void* temp, std::size_t& bytes) { return write(temp, bytes, bad.data()); });
      if (!check || gpu::fetch_one(on(), bad.data()) == gpu::none_bad) return;
    } catch (gpu::gpu_error const& error) {
      if (error.code() != static_cast<int>(decltype(device_.on)::invalid_value)) throw;
    }
    for (auto const& [argument, given] : unsigned_)
      if (Tensor const places = given.lt(0).nonzero(); places.numel() > 0) {
        Tensor const first = places[0], bad = given[first.item<std::int64_t>()];
        demand(false, argument, "[", first.item<std::int64_t>(), "] = ", bad.item<std::int64_t>(), " must not be negative");
      }
    in_sentences(by_value);
    demand(false, name_, ": an argument is out of range");
  }

 private:
  char const* name_;
  char const* argument_;
  Tensor const& first_;
  Device device_;
  mutable std::vector<std::pair<char const*, Tensor>> unsigned_;
};

// The elements of a checked tensor as the twins take them: indices and words are not signed.
template <class T>
T const* from(Tensor const& t) {
  return t.const_data_ptr<T>();
}
template <class T>
T* into(Tensor const& t) {
  return t.mutable_data_ptr<T>();
}
inline std::uint64_t const* words_of(Tensor const& t) { return reinterpret_cast<std::uint64_t const*>(from<std::int64_t>(t)); }
inline std::uint64_t* words_in(Tensor const& t) { return reinterpret_cast<std::uint64_t*>(into<std::int64_t>(t)); }
template <class T>
auto const* indices(T const* signed_indices) {
  return reinterpret_cast<std::make_unsigned_t<T> const*>(signed_indices);
}
inline std::size_t count_of(Tensor const& t) { return static_cast<std::size_t>(t.numel()); }

// Packs by their offsets; without, all is one pack.
struct pack_bounds {
  Tensor kept;
  std::uint64_t const* offsets = nullptr;
  std::size_t packs = 1;
  template <class Device>
  pack_bounds(call<Device> const& op, maybe_tensor const& given) {
    if (!given) return;
    kept = op.index_words("offsets", op.bounds("offsets", *given));
    offsets = words_of(kept);
    packs = count_of(kept) - 1;
  }
};

}  // namespace ballast_torch
