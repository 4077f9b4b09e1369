// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// @file
/// @brief `module_set`: the modules of a transformer layer whose activations are recomputed, by the names that Megatron-Core gives them.

namespace ballast::inline v0_2 {

/// @brief A module of a transformer layer that can be recomputed in the backward pass without the rest of the layer.
///
/// All but `experts` are values of Megatron-Core's `--recompute-modules`.
enum class recompute_module : std::uint8_t {
  core_attention,     ///< scores, softmax and its dropout; fused kernels always recompute them
  layernorm,          ///< the norms before the attention block and before the feed-forward block
  mla_up_projection,  ///< latent attention: queries, keys and values, from the compressed ones
  mlp,                ///< a dense feed-forward block
  moe_activation,     ///< the activation functions of the routed experts
  experts,            ///< the inner activations of the routed experts; their inputs, the copies of the tokens sent to them, are kept
  shared_experts,     ///< the inner activations of the experts that every token visits
  moe,                ///< all of a mixture-of-experts block: router, dispatch, routed and shared experts
};

/// @brief A module with its name.
struct named_module {
  std::string_view name;    ///< Megatron-Core's name, or "experts"
  recompute_module module;  ///< the module
};

/// @brief All modules with their names, in the order of `recompute_module`.
inline constexpr std::array recompute_modules{
    named_module{"core_attn", recompute_module::core_attention},      named_module{"layernorm", recompute_module::layernorm},
    named_module{"mla_up_proj", recompute_module::mla_up_projection}, named_module{"mlp", recompute_module::mlp},
    named_module{"moe_act", recompute_module::moe_activation},        named_module{"experts", recompute_module::experts},
    named_module{"shared_experts", recompute_module::shared_experts}, named_module{"moe", recompute_module::moe},
};

/// @brief The name of a module. @param module the module @return its name in `recompute_modules`
[[nodiscard]] constexpr std::string_view to_string(recompute_module module) noexcept {
  return recompute_modules[static_cast<std::size_t>(module)].name;
}

/// @brief Finds a module by its name.
/// @param name  one of `recompute_modules`, as in "core_attn"
/// @return the module
/// @throws invalid_input, with a list of the names, if there is no such module
[[nodiscard]] constexpr recompute_module recompute_module_named(std::string_view name) {
  return find_named(recompute_modules, name, "recompute module").module;
}

/// @brief A set of modules.
struct module_set {
  std::uint8_t bits = 0;  ///< bit i is set if the set contains the module whose number is i

  /// @brief The empty set.
  constexpr module_set() noexcept = default;
  /// @brief The set of some modules. @param modules the modules, in any order
  constexpr module_set(std::initializer_list<recompute_module> modules) noexcept {
    for (auto const m : modules) *this = with(m);
  }
  /// @brief Whether a module is in the set. @param module the module
  [[nodiscard]] constexpr bool contains(recompute_module module) const noexcept {
    return (bits >> static_cast<unsigned>(module) & 1U) != 0;
  }
  /// @brief Whether the set has no module.
  [[nodiscard]] constexpr bool empty() const noexcept { return bits == 0; }
  /// @brief The set with one more module. @param module the module
  [[nodiscard]] constexpr module_set with(recompute_module module) const noexcept {
    auto out = *this;
    out.bits = static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(module));
    return out;
  }
  /// @brief The modules of the set that are not in another. @param other the other set
  [[nodiscard]] constexpr module_set without(module_set other) const noexcept {
    other.bits = static_cast<std::uint8_t>(bits & ~other.bits);
    return other;
  }
  friend constexpr bool operator==(module_set const&, module_set const&) = default;
};

/// @brief The inner activations of all feed-forward blocks: what `recomputation::selective` (memory.hpp) recomputes.
inline constexpr module_set feed_forward_modules{recompute_module::mlp, recompute_module::experts, recompute_module::shared_experts};

/// @brief The names of the modules of a set, separated by commas. @param set the set @return as in "core_attn,mlp"; empty if the set is
[[nodiscard]] inline std::string to_string(module_set set) {
  std::string out;
  for (auto const& m : recompute_modules)
    if (set.contains(m.module)) out += (out.empty() ? "" : ",") + std::string(m.name);
  return out;
}

/// @brief Reads a set from the names of its modules.
/// @param names  names separated by commas, in any order, as in "core_attn,mlp"; empty for the empty set
/// @return the set
/// @throws invalid_input as `recompute_module_named`
[[nodiscard]] constexpr module_set module_set_named(std::string_view names) {
  module_set out;
  while (!names.empty()) {
    auto const comma = names.find(',');
    out = out.with(recompute_module_named(names.substr(0, comma)));
    if (comma == names.npos) break;
    names.remove_prefix(comma + 1);
    require(!names.empty(), [] { return "the list of modules ends with a comma"; });
  }
  return out;
}

}  // namespace ballast::inline v0_2
