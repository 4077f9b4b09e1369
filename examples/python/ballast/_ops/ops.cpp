// SPDX-License-Identifier: Apache-2.0
// torch.ops.ballast: what the operators take, and their implementations for tensors of the CPU, by the plain backend of the twins.
#include <ballast/gpu/core/on_host.cuh>

#include "ops.hpp"

namespace {

struct on_cpu {
  ballast::gpu::on_host on;
  explicit on_cpu(at::Tensor const&) {}
};

}  // namespace

TORCH_LIBRARY(ballast, m) {
  m.set_python_module("ballast.ops");
  auto const tag = std::vector<at::Tag>{at::Tag::pt2_compliant_tag};
  for (auto const* const schema : {
           "pack(Tensor lengths, int capacity, *, int max_items=0, int sample_multiple=1, int pack_multiple=1, int pack_count_multiple=1) "
           "-> (Tensor offsets, Tensor members)",
           "next_fit(Tensor lengths, int capacity, *, int max_items=0, int sample_multiple=1, int pack_multiple=1) "
           "-> (Tensor offsets, Tensor pack)",
           "pack_measures(Tensor[] measures, int[] capacity, *, int max_items=0, int pack_count_multiple=1, int work=1000000000) "
           "-> (Tensor offsets, Tensor members)",
           "pack_levels(Tensor lengths, int[] capacities) -> (Tensor offsets, Tensor members, Tensor first_pack)",
           "cu_seqlens(Tensor lengths, Tensor? members=None, Tensor? offsets=None, *, int multiple=1, bool check=True) -> Tensor",
           "max_seqlen(Tensor cu) -> Tensor",
           "context_cu_seqlens(Tensor lengths, Tensor? members=None, Tensor? offsets=None, *, int ranks, int rank=-1, "
           "bool check=True) -> (Tensor cu, Tensor padded)",
           "sequence_lengths(Tensor offsets, *, bool check=True) -> Tensor",
           "unpad_rows(Tensor mask) -> (Tensor indices, Tensor cu, Tensor longest)",
           "position_ids(Tensor cu, SymInt row, *, Tensor? offsets=None, bool check=True) -> Tensor",
           "segment_ids(Tensor cu, SymInt row, *, Tensor? padded=None, Tensor? offsets=None, bool check=True) -> Tensor",
           "zigzag_indices(Tensor cu, SymInt row, *, int ranks, int rank, bool check=True) -> Tensor",
           "zigzag_inverse(Tensor cu, SymInt row, *, int ranks, bool check=True) -> Tensor",
           "gather_rows(Tensor values, Tensor cu, Tensor starts, Tensor members, SymInt row, Tensor? offsets=None, *, Scalar padding=0, "
           "bool check=True) -> Tensor",
           "scatter_rows(Tensor rows, Tensor cu, Tensor starts, Tensor members, SymInt stored, Tensor? offsets=None, *, "
           "bool check=True) -> Tensor",
           "sample_costs(Tensor lengths, Tensor table, *, bool check=True) -> Tensor",
           "pack_costs(Tensor lengths, Tensor offsets, Tensor table, *, Tensor? members=None, bool check=True) -> Tensor",
           "segment_loads(Tensor expert_of, Tensor offsets, int experts, *, bool check=True) -> Tensor",
           "clip_rows(Tensor expert_of, int experts, int capacity, *, bool check=True) -> (Tensor loads, Tensor slot_of)",
           "label_counts(Tensor labels, Tensor cu, *, int ignore=-100, bool shifted=False, bool check=True) -> Tensor",
           "loss_totals(Tensor counts, str preset, *, bool check=True) -> Tensor",
           "sequence_weights(Tensor counts, Tensor totals, str preset, *, int ranks=1, int context=1, int micro_batches=1, int length=0, "
           "Tensor? part=None, bool check=True) -> Tensor",
           "weighted_loss(Tensor losses, Tensor labels, Tensor cu, Tensor weights, *, int ignore=-100, bool shifted=False, "
           "bool check=True) -> (Tensor loss, Tensor scale, Tensor sums)",
           "token_weights(Tensor weights, Tensor labels, Tensor cu, Tensor? factor=None, *, ScalarType dtype, int ignore=-100, "
           "bool shifted=False, bool check=True) -> Tensor",
           "segment_figures(Tensor values, Tensor cu, *, bool check=True) -> (Tensor least, Tensor largest, Tensor sums, Tensor mean)",
       })
    m.def(schema, tag);
}

TORCH_LIBRARY_IMPL(ballast, CPU, m) { ballast_torch::implement<on_cpu>(m); }
