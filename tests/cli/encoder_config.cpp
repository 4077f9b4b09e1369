// SPDX-License-Identifier: Apache-2.0
#include "readers/encoder_config.hpp"
#include "errors.hpp"
#include "program.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/transformer.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>

namespace test_cli_encoder_config {

namespace {

using namespace ballast_test;
using ballast_cli::read_model_config;

ballast::transformer encoder(std::string const& type, std::string const& fields, std::string const& ends_with = {}) {
  return read_model_config(R"({"model_type": ")" + type + "\"" + (ends_with.empty() ? "" : R"(, "architectures": [")" + ends_with + "\"]") +
                               (fields.empty() ? "" : ", " + fields) + "}",
                           "config.json")
      .language;
}
std::string refused(std::string const& type, std::string const& fields) {
  try {
    (void)encoder(type, fields);
  } catch (ballast_cli::bad_input const& e) {
    return e.what();
  }
  return "accepted";
}
std::string const roberta = R"("max_position_embeddings": 514, "type_vocab_size": 1)",
                  large = R"("hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24)",
                  modern_large = R"("hidden_size": 1024, "intermediate_size": 2624, "num_attention_heads": 16, "num_hidden_layers": 28)";

}  // namespace

// bert-base-uncased on the hub holds all heads; the others hold that of ForMaskedLM.
TEST_CASE("encoder_config: the parameters are the published ones, to the last, by what the encoder ends with", "[published]") {
  CHECK(parameters(encoder("bert", "", "BertForPreTraining")) == 110'106'428);
  CHECK(parameters(encoder("bert", "", "BertForMaskedLM")) == 109'514'298);
  CHECK(parameters(encoder("bert", "")) == 109'514'298);
  CHECK(parameters(encoder("bert", "", "BertModel")) == 109'482'240);
  CHECK(parameters(encoder("bert", "", "BertForSequenceClassification")) == 109'483'778);
  CHECK(parameters(encoder("bert", R"("id2label": {"0": "a", "1": "b", "2": "c"})", "BertForSequenceClassification")) == 109'484'547);
  CHECK(parameters(encoder("bert", R"("num_labels": 3)", "BertForTokenClassification")) == 109'482'240 - 768 * 769 + 3 * 769);
  CHECK(parameters(encoder("bert", large, "BertForPreTraining")) == 336'226'108);
  CHECK(parameters(encoder("roberta", roberta, "RobertaForMaskedLM")) == 124'697'433);
  CHECK(parameters(encoder("xlm-roberta", roberta + R"(, "vocab_size": 250002)", "XLMRobertaForMaskedLM")) == 278'295'186);
  CHECK(parameters(encoder("distilbert", R"("dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072)")) == 66'985'530);
  CHECK(parameters(encoder("modernbert", "")) == 149'655'232);
  CHECK(parameters(encoder("modernbert", modern_large)) == 395'881'664);
  CHECK(parameters(encoder("modernbert", "", "ModernBertModel")) == 149'014'272);
}

TEST_CASE("encoder_config: FLOPs against hand counts: every token sees all others, or a block of neighbours") {
  auto const bert = encoder("bert", "");
  std::int64_t const h = 768, n = 512;
  auto const layer = 2 * n * (4 * h * h + 2 * h * 3072) + 4 * h * n * n;
  CHECK(forward_flops(bert)(n) == 12 * layer + 2 * n * h * 30522);
  auto const modern = encoder("modernbert", "");
  auto const matrices = 2 * n * (4 * h * h + 3 * h * 1152);
  std::int64_t const blocks = 3 * 129 * 129 + 125 * 125;  // 512 tokens
  CHECK(forward_flops(modern)(n) == 22 * matrices + 8 * 4 * h * n * n + 14 * 4 * h * blocks + 2 * n * h * 50368);
  CHECK((modern.windowed.count(22) == 14 && !modern.windowed.contains(0) && !modern.windowed.contains(21)));
  auto const types = encoder("modernbert", R"("num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"])");
  CHECK((types.windowed.contains(0) && !types.windowed.contains(1)));
}

TEST_CASE("encoder_config: what makes no encoder is refused, and what errs is said") {
  CHECK(refused("bert", R"("is_decoder": true)").find("is_decoder = true is not modelled") != std::string::npos);
  CHECK(refused("bert", R"("position_embedding_type": "relative_key")").find("position_embedding_type") != std::string::npos);
  CHECK(refused("bert", R"("architectures": ["BertLMHeadModel"])").find("is no encoder that is known") != std::string::npos);
  CHECK(refused("bert", R"("hidden_size": 100)").find("hidden_size = 100 is no multiple of its 12 heads") != std::string::npos);
  CHECK(refused("bert", R"("embedding_size": 128)").find("embedding_size = 128 changes the shape") != std::string::npos);
  CHECK(refused("modernbert", R"("local_attention": 0)").find("local_attention = 0 must be positive") != std::string::npos);
  CHECK(refused("modernbert", R"("layer_types": ["full_attention"])").find("an entry for each of 22 layers") != std::string::npos);
  CHECK(refused("bert", R"("id2label": 3, "architectures": ["BertForTokenClassification"])").find("id2label = 3 must be an object") !=
        std::string::npos);
  auto const notes = read_model_config(R"({"model_type": "bert", "architectures": ["BertModel"]})", "config.json").notes;
  CHECK(notes.front().find("so time and memory are lower") != std::string::npos);
}

TEST_CASE("encoder_config: plan, pack, memory and stats take an encoder", "[cli]") {
  scratch const in;
  in.file("bert.json", R"({"model_type": "modernbert"})");
  in.file("f", "512\n100\n300\n300\n77\n512\n");
  for (auto const* const command :
       {"plan f --capacity 1024 --ranks 2 --model bert.json", "pack f --capacity 1024 --ranks 2 --model bert.json",
        "memory bert.json --framework transformers --tokens 512 --batch 8", "stats f"}) {
    CAPTURE(command);
    auto const ran = in.ballast(command);
    CAPTURE(ran.out, ran.err);
    CHECK(ran.code == 0);
  }
  CHECK(in.ballast("plan f --capacity 1024 --ranks 2 --model bert.json")
            .out.starts_with("bert.json: modernbert of 149,655,232 parameters, 110,972,608 without embedding and head, which are one "
                             "matrix; 22 layers: 8 full, 14 sliding 129.\nLayers in which a token sees 64 others on both sides are "
                             "counted in blocks of 129.\n"));
}

}  // namespace test_cli_encoder_config
