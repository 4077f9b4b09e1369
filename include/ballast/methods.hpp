// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of methods/: published systems, composed of the other rooms: BladeDISC++, ByteScale, ChunkFlow, CKBERT, DistCA,
/// DynaPipe, EPLB, FlexSP, HBP, LongAlign, M6-T, the three schedulers of Megatron-Core, OmniBal, Pseudo-to-Real, ROAM, Skrull, slime,
/// SWIFT, TAP, the batch rebalance of transformers, verl, Whale, WLB-LLM.
///
/// Use them to reproduce a paper. `hbp::plan_training` plans multi-level packing, `longalign::sorted_batches` and `packing_steps`
/// make LongAlign's batches, and `omnibal::plan_training` chooses micro-batches, stages and recomputation as OmniBal does. Schedulers of
/// long samples, such as `flexsp::schedule`, `skrull::schedule` and `wlb::step_shards`, return `shards` or contain them.
/// @code
/// auto const levels = ballast::hbp::select_levels(profile);        // from measured times, see `find_best_setting`
/// auto const plan = ballast::hbp::plan_training(lengths, levels, {.devices = 32});
/// for (std::size_t i = 0; i < plan.order.size(); ++i) train(plan.order.at(i)); // level, index of its step, setting
/// @endcode

#include <ballast/methods/batch_rebalance.hpp>
#include <ballast/methods/bladedisc.hpp>
#include <ballast/methods/bytescale.hpp>
#include <ballast/methods/chunkflow.hpp>
#include <ballast/methods/ckbert.hpp>
#include <ballast/methods/distca.hpp>
#include <ballast/methods/distca_batch.hpp>
#include <ballast/methods/dynapipe.hpp>
#include <ballast/methods/eplb.hpp>
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/flexsp_costs.hpp>
#include <ballast/methods/global_schedule.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/methods/hbp_profile.hpp>
#include <ballast/methods/length_buckets.hpp>
#include <ballast/methods/local_or_distributed.hpp>
#include <ballast/methods/local_or_distributed_options.hpp>
#include <ballast/methods/longalign.hpp>
#include <ballast/methods/m6t.hpp>
#include <ballast/methods/megatron_dp_balanced.hpp>
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/methods/omnibal.hpp>
#include <ballast/methods/omnibal_model.hpp>
#include <ballast/methods/omnibal_training.hpp>
#include <ballast/methods/omnibal_units.hpp>
#include <ballast/methods/pseudo_to_real.hpp>
#include <ballast/methods/roam.hpp>
#include <ballast/methods/skrull.hpp>
#include <ballast/methods/skrull_costs.hpp>
#include <ballast/methods/skrull_group_size.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/methods/swift.hpp>
#include <ballast/methods/tap.hpp>
#include <ballast/methods/tap_operators.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/methods/whale.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/methods/wlb_replay.hpp>
#include <ballast/methods/wlb_shards.hpp>
