/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BALLAST_H
#define BALLAST_H

/*
 * ballast for C and for every language that calls C. Build ballast.cpp as a shared library; docs/c.md has the command.
 *
 * Handles. A function that makes something returns a handle, or NULL if it fails; free each handle by its own function (freeing NULL does
 * nothing). Arrays that a handle returns belong to it, and are valid until it is freed. A handle may be read by several threads at
 * once, but a run is changed by its own functions.
 *
 * Errors. A function that returns int returns 0, or -1 if it fails. After a failure, ballast_error() returns a sentence that names what is
 * wrong. No exception leaves the library. A function that returns a number returns 0 for a NULL handle.
 *
 * Options. Set what you need and leave the rest 0: `ballast_step_options options = {.capacity = 8192, .ranks = 8};`
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, such as "0.2.0". */
char const* ballast_version(void);

/* What was wrong with the last call of this thread; "" if it did not fail. Valid until the thread's next call. */
char const* ballast_error(void);

/* ---- Costs: how one sample is weighed by its length. None is assumed. ------------------------------------------------------------ */

typedef struct ballast_cost ballast_cost;

/* The FLOPs of a model by name, such as "llama-3.1-8b". */
ballast_cost* ballast_cost_of_model(char const* name);

/* One for each token: for models in which attention costs little beside all else. */
ballast_cost* ballast_cost_of_tokens(void);

/* A profile of `count` entries: lengths strictly ascending, costs never decreasing; between two entries it is interpolated. */
ballast_cost* ballast_cost_of_table(int64_t const* lengths, int64_t const* costs, size_t count);

/* Writes the cost of a sample of `length` tokens. */
int ballast_cost_of_length(ballast_cost const* cost, int64_t length, int64_t* result);

void ballast_cost_free(ballast_cost* cost);

/* ---- Packs, and sets of equal load -------------------------------------------------------------------------------------------------- */

/* Groups of items: the packs of a packing, or the sets of a balance. */
typedef struct ballast_groups ballast_groups;

typedef struct ballast_pack_options {
  int64_t capacity;             /* most tokens in a pack; at least 1 */
  uint64_t max_samples;         /* most samples in a pack; 0 = no limit */
  int64_t sample_multiple;      /* each sample takes up its length rounded up to a multiple of this; 0 means 1 */
  uint64_t pack_count_multiple; /* the number of packs is a multiple of this; 0 means 1 */
  int set_aside_oversize;       /* 0: a sample above the capacity is an error; 1: it is left out, see ballast_groups_left_out */
} ballast_pack_options;

/* Packs `count` samples by best-fit decreasing. */
ballast_groups* ballast_pack(int64_t const* lengths, size_t count, ballast_pack_options const* options);

/* Packs into nearly as few packs as possible. `work` limits the search in steps of an inner loop; 0 means 1,000,000,000. */
ballast_groups* ballast_near_optimal(int64_t const* lengths, size_t count, ballast_pack_options const* options, uint64_t work);

/* Deals items to `sets` sets of nearly equal cost, each of at most `capacity` tokens (0 = no limit). */
ballast_groups* ballast_balance(int64_t const* lengths, size_t count, uint64_t sets, int64_t capacity, ballast_cost const* cost);

/* The number of groups. */
size_t ballast_groups_count(ballast_groups const* groups);

/* The items of one group, as indices into `lengths`; writes how many. NULL if there is no such group. */
uint32_t const* ballast_groups_get(ballast_groups const* groups, size_t group, size_t* size);

/* All groups as two arrays: group g holds members[offsets[g]] to members[offsets[g + 1] - 1]. */
uint64_t const* ballast_groups_offsets(ballast_groups const* groups);
uint32_t const* ballast_groups_members(ballast_groups const* groups);

/* What was made small, and a proven lower bound: the number of packs, or the largest cost of a set. */
int64_t ballast_groups_value(ballast_groups const* groups);
int64_t ballast_groups_lower_bound(ballast_groups const* groups);

/* The samples that were set aside, ascending; writes how many. */
uint32_t const* ballast_groups_left_out(ballast_groups const* groups, size_t* size);

void ballast_groups_free(ballast_groups* groups);

/* ---- Steps: micro-batches of every rank --------------------------------------------------------------------------------------------- */

typedef struct ballast_steps ballast_steps;

enum { BALLAST_PER_STEP, BALLAST_PER_MICRO_BATCH, BALLAST_PIPELINE }; /* where ranks wait for each other */
enum { BALLAST_LEFT_OVER_SPLIT, BALLAST_LEFT_OVER_SHORTEN, BALLAST_LEFT_OVER_REPEAT, BALLAST_LEFT_OVER_DROP }; /* an incomplete last step */

typedef struct ballast_step_options {
  int64_t capacity;             /* most tokens in a micro-batch; at least 1 */
  uint64_t ranks;               /* data-parallel ranks; 0 means 1 */
  uint64_t micro_batches;       /* micro-batches of one rank in one step; 0 means 1 */
  uint64_t stages;              /* pipeline stages, for BALLAST_PIPELINE; 0 means 1 */
  uint64_t seed, epoch;         /* another seed or epoch gives another order */
  int64_t cost_per_micro_batch; /* fixed cost of a micro-batch, in units of the cost */
  int64_t cost_per_step;        /* fixed cost of a step */
  int synchronisation;          /* BALLAST_PER_STEP or another of its constants */
  int left_over;                /* BALLAST_LEFT_OVER_SPLIT or another of its constants */
} ballast_step_options;

/* Plans the steps of an epoch. Every rank that calls it with the same arguments gets the same plan. */
ballast_steps* ballast_plan_steps(int64_t const* lengths, size_t count, ballast_step_options const* options, ballast_cost const* cost);

/* Splits one global batch into as few micro-batches as it finds, the same number on every rank. The plan has one step. */
ballast_steps* ballast_micro_batches(int64_t const* lengths, size_t count, ballast_step_options const* options, ballast_cost const* cost);

size_t ballast_steps_count(ballast_steps const* steps);
size_t ballast_steps_ranks(ballast_steps const* steps);
size_t ballast_steps_micro_batches(ballast_steps const* steps); /* places of a rank in a step */

/* The samples of one micro-batch; writes how many. An empty place has 0 samples and is not a failure. */
uint32_t const* ballast_steps_get(ballast_steps const* steps, size_t step, size_t rank, size_t micro_batch, size_t* size);

/* A hash that ranks compare once, to be sure that they planned alike. */
uint64_t ballast_steps_hash(ballast_steps const* steps);

/* The time of the plan over that with perfect balance: 1 if no rank ever waits. */
double ballast_steps_slowest_over_mean(ballast_steps const* steps);

void ballast_steps_free(ballast_steps* steps);

/* ---- A run: the steps of several epochs, which can be saved and resumed ------------------------------------------------------------- */

typedef struct ballast_run ballast_run;

/* Starts a run of `epochs` epochs (0 means 1). Every epoch has `steps_per_epoch` steps; 0 = as many as its plan has. */
ballast_run* ballast_run_start(int64_t const* lengths, size_t count, ballast_step_options const* options, uint64_t epochs,
                               uint64_t steps_per_epoch, ballast_cost const* cost);

/* Writes the exact number of steps of the whole run, for a learning-rate schedule. */
int ballast_run_steps(ballast_run const* run, uint64_t* steps);

/* Goes on to the next step. Returns 1 and writes its number and its epoch (where not NULL), 0 at the end of the run, or -1 if it fails. */
int ballast_run_next(ballast_run* run, uint64_t* step, uint64_t* epoch);

/* The samples of one micro-batch of the current step, as ballast_steps_get; valid until the next call that changes the run. */
uint32_t const* ballast_run_get(ballast_run const* run, size_t rank, size_t micro_batch, size_t* size);

/* Writes how many integers a checkpoint needs, and the integers if `words` is not NULL and has room for them. The last one is a digest of
   the others. */
int ballast_run_state(ballast_run const* run, uint64_t* words, size_t room, size_t* count);

/* Goes on where another run of the same samples was, also one with other ranks or micro-batches. Fails, and leaves the run as it was, if
   an integer was changed, or the state is of a run with other samples, cost or options. */
int ballast_run_resume(ballast_run* run, uint64_t const* words, size_t count);

/* A hash that ranks compare once an epoch. */
uint64_t ballast_run_hash(ballast_run const* run);

void ballast_run_free(ballast_run* run);

/* ---- Rows: what attention kernels take, written into the caller's arrays ------------------------------------------------------------ */

/* Writes the number of tokens of a row. Each sample is padded to a multiple of `multiple` (0 means 1). */
int ballast_row_tokens(uint32_t const* pack, size_t size, int64_t const* lengths, size_t count, int64_t multiple, size_t* tokens);

/*
 * Writes the arrays of a row of `tokens` tokens (0 = as many as ballast_row_tokens says). `cu_seqlens` and `cu_seqlens_padded` have
 * size + 1 elements, `position_ids` and `segment_ids` one for each token. An array that is NULL is not written.
 */
int ballast_packed_row(uint32_t const* pack, size_t size, int64_t const* lengths, size_t count, int64_t multiple, size_t tokens,
                       int32_t* cu_seqlens, int32_t* cu_seqlens_padded, int64_t* position_ids, int64_t* segment_ids, int32_t* max_seqlen);

/* ---- Loss: weights with which packing changes no gradient ---------------------------------------------------------------------------- */

/* Adds the counted labels of a row's sequences to `totals`, five integers that start at 0. Add them up over all ranks. A label of -100 is
 * not counted. `preset` names a convention, such as "hf". */
int ballast_add_labels(char const* preset, int64_t const* labels, size_t tokens, int32_t const* cu_seqlens, size_t sequences,
                       int64_t* totals);

/* Writes the weight of each label of a row, from the totals of all ranks. `micro_batches` is the number of this rank in the step. */
int ballast_token_weights(char const* preset, int64_t ranks, int64_t micro_batches, int64_t const* totals, int64_t const* labels,
                          size_t tokens, int32_t const* cu_seqlens, size_t sequences, float* weights);

#ifdef __cplusplus
}
#endif

#endif
