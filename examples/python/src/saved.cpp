// SPDX-License-Identifier: Apache-2.0
#include "saved.hpp"

#include <nanobind/stl/tuple.h>
#include <ballast/core/check.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>

#include <functional>
#include <tuple>
#include <utility>

namespace ballast_python {

namespace {

void require_whole(bool whole) {
  ballast::require(whole, [] { return "the saved plan is damaged: its arrays do not fit each other; plan again from the lengths"; });
}

ballast::groups<> groups_from(nb::handle offsets, nb::handle members) {
  ballast::groups<> out;
  out.offsets = vector_of<std::uint64_t>(offsets);
  out.members = vector_of<std::uint32_t>(members);
  require_whole(!out.offsets.empty() && ballast::check_offsets(out.offsets, out.members.size()).valid());
  return out;
}

template <class... Values>
[[nodiscard]] auto numbers_from(nb::handle numbers) {
  return nb::cast<std::tuple<Values...>>(numbers);
}

}  // namespace

nb::object saved(std::vector<ballast::sample_piece> const& pieces) {
  std::vector<std::int64_t> flat;
  for (auto const& p : pieces) flat.insert(flat.end(), {static_cast<std::int64_t>(p.sample), p.offset, p.length});
  return nb::cast(array_of(std::move(flat)));
}
std::vector<ballast::sample_piece> pieces_from(nb::handle saved) {
  auto const flat = vector_of<std::int64_t>(saved);
  require_whole(flat.size() % 3 == 0);
  std::vector<ballast::sample_piece> out;
  for (std::size_t i = 0; i < flat.size(); i += 3) out.push_back({static_cast<std::uint64_t>(flat[i]), flat[i + 1], flat[i + 2]});
  return out;
}

nb::tuple saved(sample_numbers const& numbers, nb::handle owner) { return nb::make_tuple(numbers.given, view(numbers.skipped, owner)); }
sample_numbers sample_numbers_from(nb::handle saved) {
  auto const given = nb::cast<std::size_t>(saved[0]);
  auto skipped = vector_of<std::uint32_t>(saved[1]);
  require_whole(std::ranges::adjacent_find(skipped, std::greater_equal<>()) == skipped.end() &&
                (skipped.empty() || skipped.back() < given));
  return {given, std::move(skipped)};
}

nb::tuple saved(ballast::batching<> const& p, nb::handle owner) {
  nb::list shared;
  for (auto const& s : p.shared) shared.append(nb::make_tuple(s.sample, s.step, s.first_rank, s.ranks));
  auto const numbers =
      nb::make_tuple(p.ranks, p.micro_batches, p.slowest.value, p.slowest.lower_bound, p.cost, p.tokens, p.critical.cost, p.critical.square,
                     p.token_delay, static_cast<unsigned>(p.method), p.window, p.longest_delay, p.complete, ballast::hash(p));
  return nb::make_tuple(numbers, view(p.packs.offsets, owner), view(p.packs.members, owner), view(p.table, owner), view(p.dropped, owner),
                        view(p.repeated, owner), shared);
}

ballast::batching<> batching_of(nb::handle saved) {
  ballast::batching<> p;
  p.packs = groups_from(saved[1], saved[2]);
  p.table = vector_of<std::uint32_t>(saved[3]);
  p.dropped = vector_of<std::uint32_t>(saved[4]);
  p.repeated = vector_of<std::uint32_t>(saved[5]);
  for (auto const each : nb::cast<nb::list>(saved[6])) {
    auto const [sample, step, first, ranks] = numbers_from<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>(each);
    p.shared.push_back({sample, step, first, ranks});
  }
  unsigned method = 0;
  std::uint64_t digest = 0;
  std::tie(p.ranks, p.micro_batches, p.slowest.value, p.slowest.lower_bound, p.cost, p.tokens, p.critical.cost, p.critical.square,
           p.token_delay, method, p.window, p.longest_delay, p.complete, digest) =
      numbers_from<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double, double, std::int64_t,
                   unsigned, std::uint64_t, std::uint64_t, bool, std::uint64_t>(saved[0]);
  require_whole(method <= static_cast<unsigned>(ballast::step_method::windows));
  p.method = static_cast<ballast::step_method>(method);
  require_whole(p.ranks > 0 && p.micro_batches > 0 && p.table.size() % (p.ranks * p.micro_batches) == 0 &&
                std::ranges::all_of(p.table, [&](auto pack) { return pack == p.none || pack < p.packs.size(); }) &&
                ballast::hash(p) == digest);
  return p;
}

nb::tuple saved(ballast::packing<> const& p, nb::handle owner) {
  auto const numbers = nb::make_tuple(static_cast<unsigned>(p.status), p.count.value, p.count.lower_bound, static_cast<unsigned>(p.bound),
                                      p.tokens, p.complete, ballast::hash(p.packs));
  return nb::make_tuple(numbers, view(p.packs.offsets, owner), view(p.packs.members, owner), view(p.set_aside, owner), saved(p.pieces));
}

ballast::packing<> packing_of(nb::handle saved) {
  ballast::packing<> p;
  p.packs = groups_from(saved[1], saved[2]);
  p.set_aside = vector_of<std::uint32_t>(saved[3]);
  p.pieces = pieces_from(saved[4]);
  unsigned status = 0, bound = 0;
  std::uint64_t digest = 0;
  std::tie(status, p.count.value, p.count.lower_bound, bound, p.tokens, p.complete, digest) =
      numbers_from<unsigned, std::int64_t, std::int64_t, unsigned, std::int64_t, bool, std::uint64_t>(saved[0]);
  require_whole(status <= static_cast<unsigned>(ballast::status::unknown) &&
                bound <= static_cast<unsigned>(ballast::packing_bound::cutting_stock) && ballast::hash(p.packs) == digest);
  p.status = static_cast<ballast::status>(status);
  p.bound = static_cast<ballast::packing_bound>(bound);
  return p;
}

}  // namespace ballast_python
