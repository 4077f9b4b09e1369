// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/collective.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace ballast_test {

/// An all-gather or an all-to-all, message by message, on devices that stand in nodes. Every rank's counter says what it sent.
class message_by_message {
 public:
  std::vector<ballast::sent_bytes> sent;  ///< by rank
  bool complete = true;                   ///< whether every rank has received everything

  /// @param part bytes of the part that a rank contributes, or sends to each other rank
  message_by_message(ballast::collective what, std::int64_t part, ballast::rank_group const& group, std::int64_t per_node)
      : sent(static_cast<std::size_t>(group.ranks)), part_(part) {
    for (std::size_t r = 0; r < sent.size(); ++r) {
      node_.push_back(static_cast<std::int64_t>(r) * group.stride / per_node);
      members_[node_[r]].push_back(r);
    }
    if (what == ballast::collective::all_to_all) {
      for (std::size_t a = 0; a < sent.size(); ++a)
        for (std::size_t b = 0; b < sent.size(); ++b)
          if (a != b) count(a, b, 1);
      return;
    }
    std::vector<std::vector<std::size_t>> rails, nodes;  // ranks at the same place of their nodes; ranks of a node
    for (auto const& [node, members] : members_) {
      nodes.push_back(members);
      rails.resize(members.size());
      for (std::size_t i = 0; i < members.size(); ++i) rails[i].push_back(members[i]);
    }
    for (std::size_t r = 0; r < sent.size(); ++r) has_.push_back({r});
    for (auto const& rail : rails) gather(rail);
    for (auto const& node : nodes) gather(node);
    for (auto const& has : has_) complete = complete && has.size() == sent.size();
  }

 private:
  // A ring: at each step every rank passes on what it received in the step before, at first what it had.
  void gather(std::vector<std::size_t> const& ring) {
    std::vector<std::set<std::size_t>> passing;
    for (auto const r : ring) passing.push_back(has_[r]);
    for (std::size_t step = 1; step < ring.size(); ++step) {
      std::vector<std::set<std::size_t>> received(ring.size());
      for (std::size_t i = 0; i < ring.size(); ++i) {
        auto const next = (i + 1) % ring.size();
        count(ring[i], ring[next], static_cast<std::int64_t>(passing[i].size()));
        received[next] = passing[i];
        has_[ring[next]].insert(passing[i].begin(), passing[i].end());
      }
      passing = received;
    }
  }
  void count(std::size_t from, std::size_t to, std::int64_t parts) {
    (node_[from] == node_[to] ? sent[from].inside : sent[from].between) += parts * part_;
  }

  std::int64_t part_;
  std::vector<std::int64_t> node_;
  std::map<std::int64_t, std::vector<std::size_t>> members_;
  std::vector<std::set<std::size_t>> has_;
};

}  // namespace ballast_test
