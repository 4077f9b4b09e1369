/* SPDX-License-Identifier: Apache-2.0 */
/* Packs samples, plans the steps of a trainer and weighs the loss, in C. Returns 0 if every call did what ballast.h promises. */
#include "ballast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { samples = 5000, capacity = 8192, ranks = 4 };

static void check(int holds, char const* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s; last error: \"%s\"\n", what, ballast_error());
  exit(1);
}

/* Lengths in tokens; yours come from your data set. */
static void draw(int64_t* lengths) {
  uint64_t state = 1;
  for (int i = 0; i < samples; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    uint64_t const size = state >> 33;
    lengths[i] = 1 + (int64_t)(size % (size % 16 == 0 ? capacity : 700));
  }
}

static void pack_and_balance(int64_t const* lengths) {
  ballast_pack_options const options = {.capacity = capacity};
  ballast_groups* quick = ballast_pack(lengths, samples, &options);
  ballast_groups* best = ballast_near_optimal(lengths, samples, &options, 50000000);
  check(quick != NULL && best != NULL, "packing");
  printf("%zu packs by best fit, %zu by search, at least %lld needed\n", ballast_groups_count(quick), ballast_groups_count(best),
         (long long)ballast_groups_lower_bound(best));
  check(ballast_groups_value(best) <= ballast_groups_value(quick), "the search is no worse");
  check(ballast_groups_offsets(best)[ballast_groups_count(best)] == samples, "every sample is in a pack");
  ballast_cost* tokens = ballast_cost_of_tokens();
  ballast_groups* sets = ballast_balance(lengths, samples, ranks, 0, tokens);
  check(ballast_groups_count(sets) == ranks, "balancing");
  ballast_cost_free(tokens);
  ballast_groups_free(quick);
  ballast_groups_free(best);
  ballast_groups_free(sets);

  ballast_pack_options const small = {.capacity = 100, .set_aside_oversize = 1};
  ballast_groups* some = ballast_pack(lengths, samples, &small);
  size_t left_out = 0;
  check(ballast_groups_left_out(some, &left_out) != NULL && left_out > 0, "long samples are set aside");
  check(ballast_groups_offsets(some)[ballast_groups_count(some)] + left_out == samples, "and all others are packed");
  ballast_groups_free(some);
}

/* What rank 1 would do with its first micro-batch. */
static void train_on(uint32_t const* pack, size_t size, int64_t const* lengths) {
  size_t tokens = 0;
  check(ballast_row_tokens(pack, size, lengths, samples, 1, &tokens) == 0, "the size of a row");
  int32_t* cu_seqlens = malloc((size + 1) * sizeof *cu_seqlens);
  int64_t* positions = malloc(tokens * sizeof *positions);
  int64_t* labels = malloc(tokens * sizeof *labels);
  float* weights = malloc(tokens * sizeof *weights);
  check(cu_seqlens != NULL && positions != NULL && labels != NULL && weights != NULL, "malloc");
  int32_t longest = 0;
  check(ballast_packed_row(pack, size, lengths, samples, 1, tokens, cu_seqlens, NULL, positions, NULL, &longest) == 0, "a row");
  check(cu_seqlens[size] == (int32_t)tokens && positions[tokens - 1] == lengths[pack[size - 1]] - 1, "its arrays");
  for (size_t t = 0; t < tokens; ++t) labels[t] = t % 3 == 0 ? -100 : 1;
  int64_t totals[5] = {0};
  check(ballast_add_labels("hf", labels, tokens, cu_seqlens, size, totals) == 0, "counting labels");
  check(ballast_token_weights("hf", 1, 1, totals, labels, tokens, cu_seqlens, size, weights) == 0, "weights");
  double sum = 0;
  for (size_t t = 0; t < tokens; ++t) sum += weights[t];
  check(sum > 0.999 && sum < 1.001, "the weights of a mean add up to 1");
  printf("a row of %zu tokens, the longest sample has %d\n", tokens, (int)longest);
  free(cu_seqlens);
  free(positions);
  free(labels);
  free(weights);
}

static void plan(int64_t const* lengths) {
  ballast_cost* cost = ballast_cost_of_model("llama-3.1-8b");
  check(cost != NULL, "the cost of a model");
  ballast_step_options const options = {.capacity = capacity, .ranks = ranks, .micro_batches = 2, .seed = 2026};
  ballast_steps* steps = ballast_plan_steps(lengths, samples, &options, cost);
  ballast_steps* again = ballast_plan_steps(lengths, samples, &options, cost);
  check(steps != NULL && ballast_steps_hash(steps) == ballast_steps_hash(again), "every rank plans alike");
  size_t trained = 0, size = 0;
  for (size_t s = 0; s < ballast_steps_count(steps); ++s)
    for (size_t r = 0; r < ballast_steps_ranks(steps); ++r)
      for (size_t m = 0; m < ballast_steps_micro_batches(steps); ++m) {
        uint32_t const* pack = ballast_steps_get(steps, s, r, m, &size);
        if (s == 0 && r == 1 && m == 0) train_on(pack, size, lengths);
        trained += size;
      }
  check(trained == samples, "every sample is trained on once");
  printf("%zu steps, %.3f times as long as with perfect balance\n", ballast_steps_count(steps), ballast_steps_slowest_over_mean(steps));
  ballast_steps_free(steps);
  ballast_steps_free(again);

  ballast_steps* batch = ballast_micro_batches(lengths, 200, &options, cost);
  check(ballast_steps_count(batch) == 1, "one global batch is one step");
  ballast_steps_free(batch);
  ballast_cost_free(cost);
}

/* Stops a run after five steps, and resumes it in another run. */
static void stop_and_resume(int64_t const* lengths) {
  ballast_step_options const options = {.capacity = capacity, .ranks = ranks, .seed = 2026};
  ballast_cost* cost = ballast_cost_of_tokens();
  ballast_run* run = ballast_run_start(lengths, samples, &options, 2, 0, cost);
  ballast_run* other = ballast_run_start(lengths, samples, &options, 2, 0, cost);
  ballast_cost_free(cost);
  uint64_t steps = 0, step = 0, epoch = 0, saved[64];
  size_t words = 0, size = 0, other_size = 0, trained = 0;
  check(ballast_run_steps(run, &steps) == 0 && steps > 5, "the number of steps");
  check(ballast_run_get(run, 0, 0, &size) == NULL && strstr(ballast_error(), "next()") != NULL, "there is no step before the first");
  for (uint64_t s = 0; s < steps; ++s) {
    check(ballast_run_next(run, &step, &epoch) == 1 && step == s, "the next step");
    for (size_t r = 0; r < ranks; ++r) {
      ballast_run_get(run, r, 0, &size);
      trained += size;
    }
    if (s == 4) {
      check(ballast_run_state(run, saved, 64, &words) == 0, "saving");
      check(ballast_run_resume(other, saved, words) == 0 && ballast_run_hash(run) == ballast_run_hash(other), "resuming");
    }
    if (s > 4) {
      check(ballast_run_next(other, NULL, NULL) == 1, "the resumed run goes on");
      uint32_t const* here = ballast_run_get(run, 1, 0, &size);
      uint32_t const* there = ballast_run_get(other, 1, 0, &other_size);
      check(size == other_size && (size == 0 || memcmp(here, there, size * sizeof *here) == 0), "with the same samples");
    }
  }
  check(ballast_run_next(run, NULL, NULL) == 0 && epoch == 1 && trained == 2 * samples, "two epochs train on every sample twice");
  check(ballast_run_resume(other, saved, 3) == -1, "a part of a state is an error");
  saved[1] += 1;
  check(ballast_run_resume(other, saved, words) == -1 && strstr(ballast_error(), "damaged") != NULL, "a changed state is an error");
  printf("a run of %d steps in two epochs, stopped and resumed\n", (int)steps);
  ballast_run_free(run);
  ballast_run_free(other);
}

static void fail(int64_t const* lengths) {
  ballast_step_options const options = {.capacity = 100};
  check(ballast_plan_steps(lengths, samples, &options, NULL) == NULL && strstr(ballast_error(), "cost is NULL") != NULL,
        "no cost is assumed");
  ballast_cost* cost = ballast_cost_of_tokens();
  check(ballast_plan_steps(lengths, samples, &options, cost) == NULL, "a sample above the capacity is an error");
  ballast_cost_free(cost);
  printf("an error: %s\n", ballast_error());
  check(strstr(ballast_error(), "lengths[") != NULL, "which names the sample");
  check(ballast_cost_of_model("no-such-model") == NULL && strstr(ballast_error(), "llama-3.1-8b") != NULL, "known models are listed");
  check(ballast_pack(NULL, 3, NULL) == NULL && strstr(ballast_error(), "NULL") != NULL, "NULL is named");
  check(ballast_groups_count(NULL) == 0, "a NULL handle is empty");
  int64_t const at[] = {1, 10}, costs[] = {5, 50};
  int64_t cost_of_4 = 0;
  ballast_cost* table = ballast_cost_of_table(at, costs, 2);
  check(ballast_cost_of_length(table, 4, &cost_of_4) == 0 && cost_of_4 == 20 && ballast_error()[0] == '\0', "a table is interpolated");
  ballast_cost_free(table);
}

int main(void) {
  static int64_t lengths[samples];
  draw(lengths);
  printf("ballast %s\n", ballast_version());
  pack_and_balance(lengths);
  plan(lengths);
  stop_and_resume(lengths);
  fail(lengths);
  return 0;
}
