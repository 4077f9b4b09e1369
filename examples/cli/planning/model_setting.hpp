// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/communication.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How a model is trained, as the options of `plan --stages` say it.

namespace ballast_cli {

/// What has a name on the command line, in the order of the library's numbers.
struct offload_name {
  ballast::offload what;
  std::string_view word;
};
inline constexpr offload_name offloads[] = {{ballast::offload::none, "none"},
                                            {ballast::offload::optimizer, "optimizer"},
                                            {ballast::offload::gradients, "gradients"},
                                            {ballast::offload::parameters, "parameters"}};
struct context_method_name {
  ballast::context_method method;
  std::string_view word;
};
inline constexpr context_method_name context_methods[] = {{ballast::context_method::ring, "ring"},
                                                          {ballast::context_method::ulysses, "ulysses"}};
struct attention_kernel_name {
  ballast::attention_kernel kernel;
  std::string_view word;
};
inline constexpr attention_kernel_name attention_kernels[] = {{ballast::attention_kernel::fused, "fused"},
                                                              {ballast::attention_kernel::stored_scores, "stored-scores"}};
/// The parts of a vision-language model that --freeze takes.
struct frozen_part {
  ballast::trainable ballast::model_setting::* is;
  std::string_view word;
};
inline constexpr frozen_part frozen_parts[] = {{&ballast::model_setting::vision, "vision"},
                                               {&ballast::model_setting::projector, "projector"}};
struct exchange_kind {
  std::int64_t ballast::hidden_share::* share;
  std::string_view word;
};
inline constexpr exchange_kind exchange_kinds[] = {
    {&ballast::hidden_share::tensor, "tensor"},     {&ballast::hidden_share::kept_input, "kept-input"},
    {&ballast::hidden_share::context, "context"},   {&ballast::hidden_share::expert, "expert"},
    {&ballast::hidden_share::gradient, "gradient"}, {&ballast::hidden_share::parameter, "parameter"}};

/// A setting for a number of data-parallel ranks, each of which is a context-parallel group. Throws bad_input, naming the options, where
/// degrees do not suit each other or the model.
[[nodiscard]] ballast::model_setting setting_for(ballast::model_setting setting, std::uint64_t ranks, ballast::transformer const& model,
                                                 std::string const& name);

/// --stored: matrices that are not trained are in memory as the model's file stores them. Throws bad_input where all are trained, or the
/// file does not say what they take.
void take_stored(ballast::model_setting& by, std::string const& model);

/// What a plan assumes, in a sentence, with shares of exchanges that are hidden where they are given.
[[nodiscard]] std::string in_words(ballast::model_setting const& by, std::optional<ballast::hidden_share> const& hidden);
[[nodiscard]] nlohmann::ordered_json to_json(ballast::model_setting const& by, std::optional<ballast::hidden_share> const& hidden);

}  // namespace ballast_cli
