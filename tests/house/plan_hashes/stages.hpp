// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/partition/result.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/recompute/memory_option.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include "show.hpp"

// Stages of a model and their times, which several rooms return.

namespace plan_hashes {

inline void put(digest& d, ballast::memory_option const& o) { put(d, o.memory, o.time, o.transfer); }
inline void put(digest& d, ballast::stage_layer const& l) { put(d, l.time, l.state, l.options); }
template <class Index>
void put(digest& d, ballast::staged<Index> const& s) {
  put(d, s.status, s.bottleneck, s.bound, s.boundaries);
}
inline void put(digest& d, ballast::staged_figures const& f) { put(d, f.time, f.added, f.transfer, f.state, f.activations, f.memory); }
template <class Index>
void put(digest& d, ballast::joint_stages<Index> const& s) {
  put(d, s.partition, s.figures, s.option);
}
inline void put(digest& d, ballast::pipeline_event const& e) { put(d, e.start, e.end, e.micro_batch, e.virtual_stage, e.stage, e.pass); }
inline void put(digest& d, ballast::stage_figures const& f) { put(d, f.start, f.end, f.busy, f.peak_memory); }
inline void put(digest& d, ballast::pipeline_timeline const& t) { put(d, t.makespan, t.bound, t.span, t.stages, t.events); }

}  // namespace plan_hashes
