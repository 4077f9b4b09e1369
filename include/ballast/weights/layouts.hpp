// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/collective.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// @brief Layouts of weights and activations on a group of devices, and the collective that brings an activation from one to another.

namespace ballast::inline v0_2 {

/// @brief How the devices of a group hold an activation of some tokens: the input or output of an operator, or its gradient.
enum class activation_layout : std::uint8_t {
  replicated,  ///< each device holds all of it
  sequence,    ///< each device holds a part of the tokens of every sequence
  batch,       ///< each device holds whole sequences
  hidden,      ///< each device holds a part of the numbers of every token: columns of the result of a matrix, heads of attention
  partial,     ///< each device holds a term as large as the whole: the sum is not made yet
};

/// @brief How the devices of a group hold a weight. A matrix has a row for each number that it reads, a column for each that it makes.
enum class weight_layout : std::uint8_t {
  replicated,  ///< each device holds all of it
  columns,     ///< each device holds columns, and makes a part of the numbers of every token
  rows,        ///< each device holds rows, and makes a term of every number
  vocabulary,  ///< each device holds a part of the vocabulary, of an embedding or of the head
  experts,     ///< each device holds whole experts
};

/// @brief The name of a layout. @param l a layout @return "replicated", "sequence", "batch", "hidden" or "partial"
[[nodiscard]] constexpr std::string_view to_string(activation_layout l) noexcept {
  using enum activation_layout;
  return l == replicated ? "replicated" : l == sequence ? "sequence" : l == batch ? "batch" : l == hidden ? "hidden" : "partial";
}
/// @brief The name of a layout. @param l a layout @return "replicated", "columns", "rows", "vocabulary" or "experts"
[[nodiscard]] constexpr std::string_view to_string(weight_layout l) noexcept {
  using enum weight_layout;
  return l == replicated ? "replicated" : l == columns ? "columns" : l == rows ? "rows" : l == vocabulary ? "vocabulary" : "experts";
}

/// @brief Whether each device holds a part of an activation only. @param l a layout @return whether it is sequence, batch or hidden
[[nodiscard]] constexpr bool is_split(activation_layout l) noexcept {
  return l != activation_layout::replicated && l != activation_layout::partial;
}

/// @brief The layout in which the gradient of an activation is needed where the activation is made.
/// @param l  layout of the activation
/// @return the same layout; a sum passes its gradient on to all terms, so that of `partial` is `replicated`
[[nodiscard]] constexpr activation_layout gradient_of(activation_layout l) noexcept {
  return l == activation_layout::partial ? activation_layout::replicated : l;
}

/// @brief How an activation gets from one layout to another.
struct layout_change {
  bool legal = true;       ///< whether it can: a whole is never made a sum of terms
  bool exchanges = false;  ///< whether devices exchange anything; to keep or to take a part of what one holds is free
  collective how{};        ///< if so: the collective
  std::int64_t bytes = 0;  ///< if so: its bytes, counted as `collective` says
  friend constexpr bool operator==(layout_change const&, layout_change const&) = default;
};

/// @brief Finds how an activation gets from one layout to another.
///
/// Parts are gathered, terms are summed (`all_reduce`) or summed in parts (`reduce_scatter`), and parts of one kind become parts of another
/// by an `all_to_all`. The gradient goes the other way: where the forward pass takes a part of a whole, the backward pass gathers.
///
/// @param from     its layout
/// @param to       the layout that is wanted
/// @param bytes    bytes of the whole activation, not negative
/// @param ranks    devices of the group, at least 1
/// @return the collective and its bytes
[[nodiscard]] constexpr layout_change change_layout(activation_layout from, activation_layout to, std::int64_t bytes,
                                                    std::int64_t ranks) noexcept {
  using enum activation_layout;
  if (from == to) return {};
  if (to == partial) return {.legal = false};
  if (from == replicated || bytes == 0 || ranks == 1) return {};
  if (from == partial)
    return {.exchanges = true, .how = to == replicated ? collective::all_reduce : collective::reduce_scatter, .bytes = bytes};
  if (to == replicated) return {.exchanges = true, .how = collective::all_gather, .bytes = bytes};
  return {.exchanges = true, .how = collective::all_to_all, .bytes = divide_up(bytes, ranks)};
}

/// @brief What a weight reads and makes in a layout.
struct layout_use {
  bool legal = true;             ///< whether there is such a use
  activation_layout reads{};     ///< layout of the input
  activation_layout gradient{};  ///< layout of the gradient of the input that it makes
  activation_layout makes{};     ///< layout of the output; its gradient is read as `gradient_of(makes)`
  friend constexpr bool operator==(layout_use const&, layout_use const&) = default;
};

/// @brief What a weight is, as far as its layouts depend on it.
enum class weight_kind : std::uint8_t {
  matrix,     ///< replicated, by columns or by rows
  embedding,  ///< replicated, by columns (of the width) or by vocabulary
  head,       ///< replicated, by rows, or by vocabulary, which are its columns
  experts,    ///< the matrices of all experts: replicated, or whole experts
  vector,     ///< a norm, a bias or a router: replicated, used in the layout of its operator
};

/// @brief What a weight reads and makes in a layout.
///
/// Columns need the whole input and make a term of its gradient; rows read what columns make, and make terms. This pair needs one
/// `all_reduce` in each direction, as in Megatron-LM. A weight by vocabulary of an embedding makes terms: zeros for tokens that another
/// device has. A replicated weight works on whatever tokens the device has.
///
/// @param kind    what the weight is
/// @param layout  its layout
/// @param tokens  for replicated weights and experts: the layout of the input, replicated, sequence or batch
/// @return the layouts of input, gradient and output
[[nodiscard]] constexpr layout_use use_of(weight_kind kind, weight_layout layout, activation_layout tokens) noexcept {
  using enum activation_layout;
  auto const whole_tokens = tokens == replicated || tokens == sequence || tokens == batch;
  layout_use const as_they_are{whole_tokens, tokens, tokens, tokens}, none{.legal = false};
  layout_use const by_columns{true, replicated, partial, hidden}, by_rows{true, hidden, hidden, partial};
  switch (layout) {
    case weight_layout::replicated: return as_they_are;
    case weight_layout::columns:
      return kind == weight_kind::matrix      ? by_columns
             : kind == weight_kind::embedding ? layout_use{true, replicated, replicated, hidden}
                                              : none;
    case weight_layout::rows: return kind == weight_kind::matrix || kind == weight_kind::head ? by_rows : none;
    case weight_layout::vocabulary:
      return kind == weight_kind::head        ? by_columns
             : kind == weight_kind::embedding ? layout_use{true, replicated, replicated, partial}
                                              : none;
    case weight_layout::experts: return kind == weight_kind::experts && tokens != replicated ? as_they_are : none;
  }
  return none;
}

}  // namespace ballast::inline v0_2
