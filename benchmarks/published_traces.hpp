// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

// The traces of docs/packing-on-traces.md: what the benchmarks call them, and their files.

namespace benchmarks {

struct trace {
  char const* name;
  char const* file;
  std::vector<std::size_t> columns;  // summed into one length; none: the file is a histogram of lengths and counts
};

inline std::vector<trace> const published_traces{{"omnibal", "omnibal_vlm_sft.txt", {0}},
                                                 {"azure", "azure_llm_2023_conv.txt", {0, 1}},
                                                 {"mooncake", "mooncake_fast25_conversation.txt", {0, 1}},
                                                 {"arxiv", "arxiv_summarization_llama2.txt", {0, 1}},
                                                 {"openchat", "openchat_v1_sft.txt", {0}},
                                                 {"gsm8k", "gsm8k_train_approx.txt", {0, 1}},
                                                 {"deepseek-r1", "servegen_deepseek_r1_sampled.txt", {0, 1}},
                                                 {"mm-image", "servegen_mm_image_sampled.txt", {0, 1, 3}},
                                                 {"repositories", "repo_source_files_approx.txt", {0}},
                                                 {"wikipedia", "hist_wikipedia_bert512.txt", {}},
                                                 {"squad", "hist_squad11_384.txt", {}}};
}  // namespace benchmarks
