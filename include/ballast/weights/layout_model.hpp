// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/weights/layouts.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief What `plan_layouts` takes and returns: blocks of operators with weights, a chain of them, and the layout of each weight.

namespace ballast::inline v0_2 {

/// @brief A weight of an operator.
struct layout_weight {
  std::string name{};                      ///< for reports; may be empty
  weight_kind kind = weight_kind::matrix;  ///< what it is
  std::int64_t in = 1;                     ///< numbers of a token that it reads: its rows; of an embedding, the vocabulary
  std::int64_t out = 1;                    ///< numbers of a token that it makes: its columns; of experts, their inner width
  std::int64_t matrices = 1;               ///< how many matrices of this shape it has: experts times matrices of each
  std::int64_t visited = 1;                ///< through how many of these a token passes
  std::int64_t sent = 1;                   ///< of experts: to how many of them a token is sent
  std::int64_t row_units = 0;  ///< parts that its rows can be split into, such as heads; 0: each row is one. Of experts: how many there are
  std::int64_t column_units = 0;  ///< parts that its columns can be split into, such as heads; 0: each column is one
  std::int64_t router = 0;        ///< of experts: parameters of their router, which is replicated and reads what they read

  friend bool operator==(layout_weight const&, layout_weight const&) = default;
};

/// @brief In which layouts an operator without matrices can work.
enum class layout_rule : std::uint8_t {
  weights,    ///< it has matrices, which decide
  tokens,     ///< it needs whole tokens, as norms do: all but hidden
  sequences,  ///< it needs whole sequences, as attention does: all but sequence
  any,        ///< it works number by number
};

/// @brief An operator of a chain: it reads what the one before it makes.
struct layout_operator {
  std::string name{};                       ///< for reports and scopes; may be empty
  layout_rule rule = layout_rule::weights;  ///< where it can work
  std::vector<layout_weight> weights{};     ///< matrices that all read its input, one behind the other in its output; or vectors
  std::int64_t width = 1;  ///< numbers of a token that it reads; 0: what it reads is small and exchanged freely (token numbers)
  std::int64_t makes = 1;  ///< numbers of a token that it makes
  std::int64_t kept = 0;   ///< numbers of a token that the backward pass needs, in the layout that it reads
  std::int64_t units = 0;  ///< parts that its input can be split into if it has no matrices, such as heads; 0: `width`
  std::int64_t flops = 0;  ///< FLOPs of its forward pass for a token without those of its weights
  bool opens = false;      ///< whether its input is also added to the result of the next operator that closes
  bool closes = false;     ///< whether the input of the last operator that opens is added to its result

  friend bool operator==(layout_operator const&, layout_operator const&) = default;
};

/// @brief A part of a model that is planned once: a chain of operators in which what is opened is closed.
using layout_block = std::vector<layout_operator>;

/// @brief Equal blocks that follow each other.
struct block_run {
  std::uint32_t block = 0;  ///< which block
  std::uint32_t count = 1;  ///< how many, at least 1

  friend bool operator==(block_run const&, block_run const&) = default;
};

/// @brief A model as a chain of blocks.
struct layout_chain {
  std::vector<layout_block> blocks{};  ///< different blocks
  std::vector<block_run> runs{};       ///< how they follow each other

  friend bool operator==(layout_chain const&, layout_chain const&) = default;
};

/// @brief How `plan_layouts` searches.
struct layout_tuning {
  std::uint32_t points = 24;  ///< pairs of time and bytes kept for each power of a block and its borders, at least 4
};

/// @brief The devices, the tokens, and what a plan may use.
struct layout_setting {
  std::int64_t devices = 1;  ///< devices of a group that share tokens and weights, in [1, 2^12]
  std::int64_t data = 1;     ///< groups that each train tokens of their own, in [1, 2^12]; they average gradients
  std::int64_t tokens = 1;   ///< tokens of a group in a pass, in [1, 2^32]
  std::int64_t sequences =
      0;  ///< sequences of a group in a pass, in [0, 2^32]: only a multiple of `devices` can be split by batch; 0: any can
  std::int64_t passes = 1;                           ///< passes of a step, in [1, 2^20]; gradients are exchanged once in a step
  std::int64_t memory = std::int64_t{1} << 60;       ///< bytes of a device, in [0, 2^60]
  std::int64_t flops_per_s = 1'000'000'000'000'000;  ///< FLOP/s that a device reaches, in [1, 2^60]
  std::int64_t element_bytes = 2;                    ///< bytes of a number of an activation, in [1, 8]
  std::int64_t gradient_bytes = 2;                   ///< bytes of a gradient as it is exchanged, in [0, 8]
  std::int64_t state_bytes = 18;                     ///< bytes of a parameter with its gradient and states of the optimiser, in [0, 256]
  fabric links{};                                    ///< the links; devices of a group are adjacent
  hidden_share hidden{};                             ///< what computation hides: `tensor`, `expert` and `gradient` are read
  bool replicate = true;                             ///< whether matrices may be replicated
  bool split = true;                                 ///< whether weights may be split
  bool replicated = true;                            ///< whether activations may be replicated
  bool sequence = true;                              ///< whether activations may be split by sequence
  bool batch = true;                                 ///< whether activations may be split by batch
  layout_tuning tuning{};                            ///< how a planner searches
};

/// @brief Where a weight is, and what it reads.
struct weight_place {
  weight_layout layout{};     ///< how the weight is held
  activation_layout reads{};  ///< layout of what it reads
  friend bool operator==(weight_place const&, weight_place const&) = default;
};

/// @brief The layouts of an operator.
struct operator_layouts {
  activation_layout residual{};         ///< layout of what is added later, if it opens or stands between an opening and a closing operator
  activation_layout reads{};            ///< layout of its input, if it has no matrices
  std::vector<weight_place> weights{};  ///< for each weight
  activation_layout makes{};            ///< layout of its output
  friend bool operator==(operator_layouts const&, operator_layouts const&) = default;
};

/// @brief The layouts of a block, and what they cost.
struct block_layouts {
  std::uint32_t block = 0;                    ///< which block
  activation_layout entry{};                  ///< layout of its input
  activation_layout exit{};                   ///< layout of its output
  std::vector<operator_layouts> operators{};  ///< for each operator
  std::int64_t time = 0;                      ///< picoseconds of a step
  std::int64_t bytes = 0;                     ///< bytes of a device: states of its weights, and what is kept for the backward pass
  friend bool operator==(block_layouts const&, block_layouts const&) = default;
};

/// @brief In which part of a step devices exchange something.
enum class exchange_pass : std::uint8_t {
  forward,    ///< in each forward pass
  backward,   ///< in each backward pass
  gradients,  ///< gradients of weights, once in a step
};

/// @brief The name of a part of a step. @param p a part @return "forward", "backward" or "gradients"
[[nodiscard]] constexpr std::string_view to_string(exchange_pass p) noexcept {
  return p == exchange_pass::forward ? "forward" : p == exchange_pass::backward ? "backward" : "gradients";
}

/// @brief A collective that layouts of a block need.
struct layout_exchange {
  std::uint64_t at = 0;    ///< the operator of the block; their number for the change to the layout of the exit
  exchange_pass pass{};    ///< when
  collective how{};        ///< the collective
  std::int64_t bytes = 0;  ///< its bytes, counted as `collective` says
  std::int64_t ranks = 1;  ///< devices that take part
  friend bool operator==(layout_exchange const&, layout_exchange const&) = default;
};

/// @brief The layouts of all weights of a model.
struct layout_plan {
  ballast::status status = ballast::status::infeasible;  ///< feasible or infeasible
  certificate time{};                                    ///< picoseconds of a step
  std::int64_t bytes = 0;                                ///< bytes of a device
  std::int64_t shortage = 0;                             ///< if infeasible: bytes that are missing; 0 if no layouts are legal at all
  bool exact = true;                                     ///< whether all pairs of time and bytes were kept
  std::vector<block_layouts> layouts{};                  ///< different layouts of blocks
  std::vector<block_run> runs{};                         ///< the chain: `block` is an index in `layouts`
  std::uint64_t evaluated = 0;                           ///< layouts of operators that were evaluated
  std::uint64_t operations = 0;                          ///< pairs that were compared, and `evaluated`

  friend bool operator==(layout_plan const&, layout_plan const&) = default;
};

}  // namespace ballast::inline v0_2
