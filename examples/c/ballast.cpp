// SPDX-License-Identifier: Apache-2.0
// The C interface of ballast.h. No exception crosses it: every body runs in `guarded`, which keeps the sentence of an error.
#include "ballast.h"

#include <ballast/balance.hpp>
#include <ballast/batching.hpp>
#include <ballast/core.hpp>
#include <ballast/cost.hpp>
#include <ballast/layout.hpp>
#include <ballast/loss.hpp>
#include <ballast/packing.hpp>
#include <ballast/plan/training_run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// A cost model over all that the interface offers, so that it has one type.
struct ballast_cost {
  std::variant<ballast::token_cost, ballast::transformer_cost, ballast::cost_table> model;

  std::int64_t operator()(std::int64_t length) const {
    return std::visit([&](auto const& m) { return std::int64_t{m(length)}; }, model);
  }
  [[nodiscard]] bool fits(std::int64_t length) const {
    return std::visit(
        [&](auto const& m) {
          if constexpr (ballast::bounded_cost_model<std::remove_cvref_t<decltype(m)>>)
            return m.fits(length);
          else
            return length >= 0;
        },
        model);
  }
};
struct ballast_groups {
  ballast::groups<> sets;
  ballast::certificate reached;
  std::vector<std::uint32_t> left_out;
};
struct ballast_steps {
  ballast::batching<> plan;
};
struct ballast_run {
  ballast::training_run<ballast_cost> run;
};

namespace {

thread_local char error[1024] = "";  // an array, so that keeping a sentence allocates nothing

void keep(char const* sentence) noexcept {
  auto const size = (std::min)(std::strlen(sentence), sizeof error - 1);
  std::memcpy(error, sentence, size);
  error[size] = '\0';
}

/// Returns what the body returns; if it throws, keeps the sentence and returns `failed`.
template <class Result, class Body>
Result guarded(Result failed, Body const& body) noexcept {
  keep("");
  try {
    return body();
  } catch (std::exception const& e) {
    keep(e.what());
  } catch (...) {
    keep("an unknown exception was thrown");
  }
  return failed;
}
template <class Body>
int status_of(Body const& body) noexcept {
  return guarded(-1, [&] { return body(), 0; });
}
template <class Handle, class Body>
Handle* made(Body const& body) noexcept {
  return guarded(static_cast<Handle*>(nullptr), [&] { return std::make_unique<Handle>(body()).release(); });
}

template <class T>
T& given(T* pointer, char const* name) {
  ballast::require(pointer != nullptr, [&] { return std::string(name) + " is NULL"; });
  return *pointer;
}
template <class T>
std::span<T> array(T* first, std::size_t size, char const* name) {
  if (size != 0) given(first, name);
  return {first, size};
}
void require_below(std::size_t value, std::size_t limit, char const* name) {
  ballast::require(value < limit,
                   [&] { return std::string(name) + " = " + std::to_string(value) + " must be below " + std::to_string(limit); });
}
std::string_view text(char const* words, char const* name) { return &given(words, name); }
constexpr auto or_one(auto value) { return value == 0 ? decltype(value){1} : value; }

ballast_cost const& model_of(ballast_cost const* cost) {
  ballast::require(cost != nullptr, [] {
    return std::string("cost is NULL, and no cost is assumed: say what a sample costs by ballast_cost_of_model, _of_table or _of_tokens");
  });
  return *cost;
}

ballast::packing_options options_of(ballast_pack_options const* options) {
  auto const& o = given(options, "options");
  return {.capacity = o.capacity,
          .max_samples = o.max_samples,
          .sample_multiple = or_one(o.sample_multiple),
          .pack_count_multiple = or_one(o.pack_count_multiple),
          .oversize = o.set_aside_oversize == 0 ? ballast::oversize::reject : ballast::oversize::set_aside};
}
ballast_groups groups_of(ballast::packing<> packing) { return {std::move(packing.packs), packing.count, std::move(packing.set_aside)}; }

ballast::batching_options options_of(ballast_step_options const* options) {
  auto const& o = given(options, "options");
  auto const known = [](int value, int most, char const* name) {
    ballast::require(value >= 0 && value <= most,
                     [&] { return std::string(name) + " = " + std::to_string(value) + " is not one of its constants"; });
  };
  known(o.synchronisation, BALLAST_PIPELINE, "synchronisation");
  known(o.left_over, BALLAST_LEFT_OVER_DROP, "left_over");
  return {.capacity = o.capacity,
          .ranks = or_one(o.ranks),
          .micro_batches = or_one(o.micro_batches),
          .synchronisation = static_cast<ballast::synchronisation>(o.synchronisation),
          .stages = or_one(o.stages),
          .left_over = static_cast<ballast::left_over>(o.left_over),
          .seed = o.seed,
          .epoch = o.epoch,
          .cost_per_micro_batch = o.cost_per_micro_batch,
          .cost_per_step = o.cost_per_step};
}

constexpr std::uint32_t const* no_samples = nullptr;

std::uint32_t const* view(std::span<std::uint32_t const> members, std::size_t* size) {
  given(size, "size") = members.size();
  return members.data();
}

/// The samples of one place of a plan; none for an empty place.
std::uint32_t const* view_place(ballast::batching<> const& plan, std::size_t step, std::size_t rank, std::size_t micro_batch,
                                std::size_t* size) {
  require_below(rank, static_cast<std::size_t>(plan.ranks), "rank");
  require_below(micro_batch, static_cast<std::size_t>(plan.micro_batches), "micro_batch");
  auto const pack = plan.at(step, rank, micro_batch);
  return pack == plan.none ? no_samples : view(plan.packs[pack], size);
}

ballast::loss_preset preset_of(char const* name, std::int64_t ranks, std::int64_t micro_batches) {
  auto preset = ballast::loss_preset_named(text(name, "preset"));
  ballast::require(preset.normaliser.scope == ballast::loss_scope::step, [&] {
    return "preset \"" + std::string(name) + "\" averages over parts of a step, which this interface does not offer";
  });
  preset.path.ranks = ranks;
  preset.path.micro_batches = micro_batches;
  return preset;
}

struct row_labels {
  std::span<std::int64_t const> labels;
  std::span<std::int32_t const> cu_seqlens;
  std::vector<std::int64_t> counts;
};
row_labels labels_of(std::int64_t const* labels, std::size_t tokens, std::int32_t const* cu_seqlens, std::size_t sequences) {
  row_labels out{array(labels, tokens, "labels"), array(cu_seqlens, sequences + 1, "cu_seqlens"), {}};
  out.counts = ballast::label_counts(out.labels, out.cu_seqlens);
  return out;
}

}  // namespace

extern "C" {

char const* ballast_version(void) {
  static std::string const version =
      std::to_string(ballast::version.major) + "." + std::to_string(ballast::version.minor) + "." + std::to_string(ballast::version.patch);
  return version.c_str();
}
char const* ballast_error(void) { return error; }

ballast_cost* ballast_cost_of_model(char const* name) {
  return made<ballast_cost>([&] { return ballast_cost{ballast::sample_cost(ballast::transformer_preset(text(name, "name")))}; });
}
ballast_cost* ballast_cost_of_tokens(void) {
  return made<ballast_cost>([] { return ballast_cost{ballast::token_cost{}}; });
}
ballast_cost* ballast_cost_of_table(int64_t const* lengths, int64_t const* costs, size_t count) {
  return made<ballast_cost>([&] {
    auto const at = array(lengths, count, "lengths"), cost = array(costs, count, "costs");
    return ballast_cost{ballast::cost_table({at.begin(), at.end()}, {cost.begin(), cost.end()})};
  });
}
int ballast_cost_of_length(ballast_cost const* cost, int64_t length, int64_t* result) {
  return status_of([&] {
    given(result, "result") = ballast::checked_cost(length, model_of(cost), "cost", [&] { return "length = " + std::to_string(length); });
  });
}
void ballast_cost_free(ballast_cost* cost) { delete cost; }

ballast_groups* ballast_pack(int64_t const* lengths, size_t count, ballast_pack_options const* options) {
  return made<ballast_groups>([&] { return groups_of(ballast::pack(array(lengths, count, "lengths"), options_of(options))); });
}
ballast_groups* ballast_near_optimal(int64_t const* lengths, size_t count, ballast_pack_options const* options, uint64_t work) {
  return made<ballast_groups>([&] {
    ballast::search_limits limits;
    if (work != 0) limits.work = work;
    return groups_of(ballast::near_optimal(array(lengths, count, "lengths"), options_of(options), limits));
  });
}
ballast_groups* ballast_balance(int64_t const* lengths, size_t count, uint64_t sets, int64_t capacity, ballast_cost const* cost) {
  return made<ballast_groups>([&] {
    auto found = ballast::balance(array(lengths, count, "lengths"), {.sets = sets, .capacity = capacity}, model_of(cost));
    ballast::require(found.status == ballast::status::feasible, [&] {
      return std::to_string(sets) + " sets of capacity " + std::to_string(capacity) + " have no room for all items, or none was found";
    });
    return ballast_groups{std::move(found.sets), found.load, {}};
  });
}
size_t ballast_groups_count(ballast_groups const* groups) { return groups == nullptr ? 0 : groups->sets.size(); }
uint32_t const* ballast_groups_get(ballast_groups const* groups, size_t group, size_t* size) {
  return guarded(no_samples, [&] {
    given(size, "size") = 0;
    auto const& sets = given(groups, "groups").sets;
    require_below(group, sets.size(), "group");
    return view(sets[group], size);
  });
}
uint64_t const* ballast_groups_offsets(ballast_groups const* groups) { return groups == nullptr ? nullptr : groups->sets.offsets.data(); }
uint32_t const* ballast_groups_members(ballast_groups const* groups) { return groups == nullptr ? nullptr : groups->sets.members.data(); }
int64_t ballast_groups_value(ballast_groups const* groups) { return groups == nullptr ? 0 : groups->reached.value; }
int64_t ballast_groups_lower_bound(ballast_groups const* groups) { return groups == nullptr ? 0 : groups->reached.lower_bound; }
uint32_t const* ballast_groups_left_out(ballast_groups const* groups, size_t* size) {
  return guarded(no_samples, [&] {
    given(size, "size") = 0;
    return view(given(groups, "groups").left_out, size);
  });
}
void ballast_groups_free(ballast_groups* groups) { delete groups; }

ballast_steps* ballast_plan_steps(int64_t const* lengths, size_t count, ballast_step_options const* options, ballast_cost const* cost) {
  return made<ballast_steps>(
      [&] { return ballast_steps{ballast::plan_steps(array(lengths, count, "lengths"), options_of(options), model_of(cost))}; });
}
ballast_steps* ballast_micro_batches(int64_t const* lengths, size_t count, ballast_step_options const* options, ballast_cost const* cost) {
  return made<ballast_steps>(
      [&] { return ballast_steps{ballast::micro_batches(array(lengths, count, "lengths"), options_of(options), model_of(cost))}; });
}
size_t ballast_steps_count(ballast_steps const* steps) { return steps == nullptr ? 0 : steps->plan.steps(); }
size_t ballast_steps_ranks(ballast_steps const* steps) { return steps == nullptr ? 0 : static_cast<std::size_t>(steps->plan.ranks); }
size_t ballast_steps_micro_batches(ballast_steps const* steps) {
  return steps == nullptr ? 0 : static_cast<std::size_t>(steps->plan.micro_batches);
}
uint32_t const* ballast_steps_get(ballast_steps const* steps, size_t step, size_t rank, size_t micro_batch, size_t* size) {
  return guarded(no_samples, [&] {
    given(size, "size") = 0;
    auto const& plan = given(steps, "steps").plan;
    require_below(step, plan.steps(), "step");
    return view_place(plan, step, rank, micro_batch, size);
  });
}
uint64_t ballast_steps_hash(ballast_steps const* steps) { return steps == nullptr ? 0 : ballast::hash(steps->plan); }
double ballast_steps_slowest_over_mean(ballast_steps const* steps) { return steps == nullptr ? 0 : steps->plan.slowest_over_mean(); }
void ballast_steps_free(ballast_steps* steps) { delete steps; }

ballast_run* ballast_run_start(int64_t const* lengths, size_t count, ballast_step_options const* options, uint64_t epochs,
                               uint64_t steps_per_epoch, ballast_cost const* cost) {
  return made<ballast_run>([&] {
    ballast::run_options const of_run{.data = {.steps = options_of(options)}, .epochs = or_one(epochs), .steps_per_epoch = steps_per_epoch};
    return ballast_run{ballast::training_run(array(lengths, count, "lengths"), of_run, model_of(cost))};
  });
}
int ballast_run_steps(ballast_run const* run, uint64_t* steps) {
  return status_of([&] { given(steps, "steps") = given(run, "run").run.steps(); });
}
int ballast_run_next(ballast_run* run, uint64_t* step, uint64_t* epoch) {
  return guarded(-1, [&] {
    auto& r = given(run, "run").run;
    if (r.done()) return 0;
    auto const now = r.next();
    if (step != nullptr) *step = now.step;
    if (epoch != nullptr) *epoch = now.epoch;
    return 1;
  });
}
uint32_t const* ballast_run_get(ballast_run const* run, size_t rank, size_t micro_batch, size_t* size) {
  return guarded(no_samples, [&] {
    given(size, "size") = 0;
    auto const& r = given(run, "run").run;
    static_cast<void>(r.packs_of(0));  // throws before the first step
    auto const step = static_cast<std::size_t>(r.state().parts.back().steps - 1);
    return view_place(r.plan().steps, step, rank, micro_batch, size);
  });
}
int ballast_run_state(ballast_run const* run, uint64_t* words, size_t room, size_t* count) {
  return status_of([&] {
    auto const state = given(run, "run").run.state().words();
    given(count, "count") = state.size();
    if (words == nullptr) return;
    ballast::require(room >= state.size(), [&] {
      return "room = " + std::to_string(room) + " is too small for a state of " + std::to_string(state.size()) + " words";
    });
    std::copy(state.begin(), state.end(), words);
  });
}
int ballast_run_resume(ballast_run* run, uint64_t const* words, size_t count) {
  return status_of([&] { given(run, "run").run.resume(ballast::run_state::from_words(array(words, count, "words"))); });
}
uint64_t ballast_run_hash(ballast_run const* run) {
  return guarded(std::uint64_t{0}, [&] { return given(run, "run").run.hash(); });
}
void ballast_run_free(ballast_run* run) { delete run; }

int ballast_row_tokens(uint32_t const* pack, size_t size, int64_t const* lengths, size_t count, int64_t multiple, size_t* tokens) {
  return status_of([&] {
    ballast::row_options const options{.multiple = or_one(multiple)};
    given(tokens, "tokens") = ballast::packed_row_size(array(pack, size, "pack"), array(lengths, count, "lengths"), options).tokens;
  });
}
int ballast_packed_row(uint32_t const* pack, size_t size, int64_t const* lengths, size_t count, int64_t multiple, size_t tokens,
                       int32_t* cu_seqlens, int32_t* cu_seqlens_padded, int64_t* position_ids, int64_t* segment_ids, int32_t* max_seqlen) {
  return status_of([&] {
    ballast::row_options const options{.multiple = or_one(multiple), .tokens = tokens};
    auto const members = array(pack, size, "pack");
    auto const of = array(lengths, count, "lengths");
    auto const row = ballast::packed_row_size(members, of, options);
    auto const wanted = [](auto* first, std::size_t n) { return std::span(first, first == nullptr ? 0 : n); };
    ballast::row_spans<std::int32_t, std::int64_t> const out{wanted(cu_seqlens, row.offsets), wanted(cu_seqlens_padded, row.offsets),
                                                             wanted(position_ids, row.tokens), wanted(segment_ids, row.tokens)};
    auto const longest = ballast::write_packed_row(members, of, out, options);
    if (max_seqlen != nullptr) *max_seqlen = longest;
  });
}

int ballast_add_labels(char const* preset, int64_t const* labels, size_t tokens, int32_t const* cu_seqlens, size_t sequences,
                       int64_t* totals) {
  return status_of([&] {
    auto& first = given(totals, "totals");
    auto const row = labels_of(labels, tokens, cu_seqlens, sequences);
    ballast::loss_totals sum;
    std::copy_n(&first, sum.words.size(), sum.words.begin());
    sum += ballast::loss_totals_of(row.counts, preset_of(preset, 1, 1).normaliser);
    std::copy(sum.words.begin(), sum.words.end(), &first);
  });
}
int ballast_token_weights(char const* preset, int64_t ranks, int64_t micro_batches, int64_t const* totals, int64_t const* labels,
                          size_t tokens, int32_t const* cu_seqlens, size_t sequences, float* weights) {
  return status_of([&] {
    auto const chosen = preset_of(preset, ranks, micro_batches);
    auto const row = labels_of(labels, tokens, cu_seqlens, sequences);
    ballast::loss_totals sum;
    std::copy_n(&given(totals, "totals"), sum.words.size(), sum.words.begin());
    auto const per_sequence = ballast::loss_weights(row.counts, sum, chosen.normaliser, chosen.path);
    ballast::token_weights<float>(per_sequence, row.labels, row.cu_seqlens, array(weights, tokens, "weights"));
  });
}

}  // extern "C"
