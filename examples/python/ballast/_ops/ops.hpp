// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/library.h>

#include "cost.hpp"
#include "layout.hpp"
#include "loss.hpp"
#include "packing.hpp"

// The operators, each a template over the device. To add one: its function in the header of its room, its line here, its schema in
// ops.cpp, its fake in ../ops.py, and its arguments in tests/python/torch_ops.py.

namespace ballast_torch {

template <class Device>
void implement(torch::Library& m) {
  m.impl("pack", pack<Device>);
  m.impl("next_fit", next_fit<Device>);
  m.impl("pack_measures", pack_measures<Device>);
  m.impl("pack_levels", pack_levels<Device>);
  m.impl("cu_seqlens", cu_seqlens<Device>);
  m.impl("context_cu_seqlens", context_cu_seqlens<Device>);
  m.impl("max_seqlen", max_seqlen<Device>);
  m.impl("sequence_lengths", sequence_lengths<Device>);
  m.impl("unpad_rows", unpad_rows<Device>);
  m.impl("position_ids", position_ids<Device>);
  m.impl("segment_ids", segment_ids<Device>);
  m.impl("zigzag_indices", zigzag_indices<Device>);
  m.impl("zigzag_inverse", zigzag_inverse<Device>);
  m.impl("gather_rows", gather_rows<Device>);
  m.impl("scatter_rows", scatter_rows<Device>);
  m.impl("sample_costs", sample_costs<Device>);
  m.impl("pack_costs", pack_costs<Device>);
  m.impl("segment_loads", segment_loads<Device>);
  m.impl("clip_rows", clip_rows<Device>);
  m.impl("label_counts", label_counts<Device>);
  m.impl("loss_totals", loss_totals<Device>);
  m.impl("sequence_weights", sequence_weights<Device>);
  m.impl("weighted_loss", weighted_loss<Device>);
  m.impl("token_weights", token_weights<Device>);
  m.impl("segment_figures", segment_figures<Device>);
}

}  // namespace ballast_torch
