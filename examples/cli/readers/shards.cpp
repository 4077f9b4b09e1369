// SPDX-License-Identifier: Apache-2.0
#include "readers/shards.hpp"

#include "errors.hpp"
#include "readers/json_document.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ballast_cli {

namespace {

/// Reads one line of shards.
class shards_line {
 public:
  shards_line(std::string_view text, std::string place) : place_(std::move(place)) {
    auto const json = parse_document(text, place_);
    if (json.is_discarded() || !json.is_object()) fail("expected a JSON object, one a line for each batch");
    read_execution(json);
    if (!json.contains("ranks")) fail("the key \"ranks\" is missing: of each rank its passes, of each pass its pieces");
    for (auto const& rank : list(json["ranks"], "ranks")) read_rank(rank);
    if (json.contains("groups"))
      for (auto const& group : list(json["groups"], "groups")) {
        std::vector<std::uint32_t> ranks;
        for (auto const& rank : list(group, "a group")) ranks.push_back(whole<std::uint32_t>(rank, "a rank of a group"));
        out_.rank_groups.push_back(ranks);
      }
    if (json.contains("left_out"))
      for (auto const& sample : list(json["left_out"], "left_out")) out_.left_out.push_back(whole<std::uint32_t>(sample, "a sample"));
  }
  [[nodiscard]] ballast::shards<> take() { return std::move(out_); }

 private:
  [[noreturn]] void fail(std::string const& why) const { throw bad_input(place_ + ": " + why); }

  nlohmann::json const& list(nlohmann::json const& value, char const* what) const {
    if (!value.is_array()) fail(std::string(what) + ": expected a list, not " + printable(value.dump(-1, ' ', true)));
    return value;
  }
  template <class Integer>
  Integer whole(nlohmann::json const& value, char const* what) const {
    constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<Integer>::max)());
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
      fail(std::string(what) + ": expected a whole number from 0 to " + std::to_string(most) + ", not " +
           printable(value.dump(-1, ' ', true)));
    return static_cast<Integer>(value.get<std::uint64_t>());
  }
  void read_execution(nlohmann::json const& json) {
    using enum ballast::execution;
    if (json.contains("execution") && json["execution"].is_string())
      for (auto const policy : {independent, lockstep, mixed})
        if (json["execution"].get_ref<std::string const&>() == to_string(policy)) {
          out_.execution = policy;
          return;
        }
    fail("the key \"execution\" must be \"independent\", \"lockstep\" or \"mixed\"");
  }
  void read_rank(nlohmann::json const& rank) {
    for (auto const& pass : list(rank, "a rank")) {
      for (auto const& piece : list(pass, "a pass")) {
        if (list(piece, "a piece").size() < 3 || piece.size() > 4)
          fail("a piece: expected [sample, begin, end] or [sample, begin, end, group], not " + printable(piece.dump(-1, ' ', true)));
        out_.pieces.push_back({.sample = whole<std::uint32_t>(piece[0], "a sample"),
                               .begin = whole<std::int64_t>(piece[1], "a first token"),
                               .end = whole<std::int64_t>(piece[2], "an end"),
                               .group = piece.size() == 4 ? whole<std::uint32_t>(piece[3], "a group") : ballast::not_shared});
      }
      out_.pass_offsets.push_back(out_.pieces.size());
    }
    out_.rank_offsets.push_back(out_.passes());
  }

  std::string place_;
  ballast::shards<> out_;
};

}  // namespace

std::vector<ballast::shards<>> read_shards(std::string_view text, std::string const& name) {
  std::vector<ballast::shards<>> out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    auto const end = (std::min)(text.find('\n'), text.size());
    auto const row = text.substr(0, end);
    text.remove_prefix((std::min)(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") != std::string_view::npos) out.push_back(shards_line(row, name + ":" + std::to_string(line)).take());
  }
  if (out.empty()) throw bad_input(name + ": there are no shards in it");
  return out;
}

}  // namespace ballast_cli
