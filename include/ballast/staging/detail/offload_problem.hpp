// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// What a choice for one layer takes of everything that is limited.
struct offload_choice {
  prefetch_layer times;                           // without the passes; `backward` is the update by the device
  std::int64_t device = 0, buffer = 0, host = 0;  // bytes
};

/// Choices that need no buffer larger than `largest`, and the bytes that the smallest buffers of a range leave of the device.
struct buffer_range {
  std::int64_t largest = 0, room = 0;
};

/// Classes of layers with equal states, with the figures of every choice. Their passes may differ.
template <class = when_called>
struct offload_problem {
  static constexpr std::size_t choices = hosted_choices;

  offload_problem(std::span<offload_layer const> layers, offload_options const& given) : options(given), class_of(layers.size()) {
    std::vector<std::uint32_t> order(layers.size());
    std::iota(order.begin(), order.end(), 0U);
    auto const key = [&](std::uint32_t i) {
      auto const& l = layers[i];
      return std::tuple(l.device_update, l.states.parameter, l.states.gradient, l.states.optimizer);
    };
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::tuple(key(a), a) < std::tuple(key(b), b); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || key(order[i]) != key(order[i - 1])) {
        count.push_back(0);
        for (std::size_t c = 0; c < choices; ++c) table.push_back(choice_of(layers[order[i]], static_cast<hosted>(c)));
      }
      ++count.back();
      class_of[order[i]] = static_cast<std::uint32_t>(count.size() - 1);
    }
    for (auto const& l : layers) {
      passes.emplace_back(l.forward, l.backward);
      forward += l.forward;
      backward += l.backward;
    }
    if (!layers.empty()) last_backward = layers.back().backward;
  }

  [[nodiscard]] offload_choice const& at(std::size_t k, std::size_t choice) const { return table[k * choices + choice]; }
  [[nodiscard]] std::size_t classes() const noexcept { return count.size(); }
  [[nodiscard]] std::size_t layers() const noexcept { return class_of.size(); }

  /// What the device computes in any case.
  [[nodiscard]] std::int64_t least_time() const {
    auto sum = forward + backward;
    for (std::size_t k = 0; k < classes(); ++k) {
      auto least = at(k, 0).times.backward;
      for (std::size_t c = 1; c < choices; ++c) least = (std::min)(least, at(k, c).times.backward);
      sum += static_cast<std::int64_t>(count[k]) * least;
    }
    return sum;
  }

  /// What takes least of the device: its bytes, and the choice of each class.
  struct least_choices {
    std::int64_t device = 0;
    std::vector<std::size_t> choice;
  };
  /// For each size of a buffer, every class takes the choice of least bytes, then least of the host, that needs no larger one.
  [[nodiscard]] least_choices least_device() const {
    std::vector<std::size_t> order(table.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::tuple(table[a].buffer, a) < std::tuple(table[b].buffer, b); });
    std::int64_t sum = 0, best = -1, size = 0;
    std::vector<std::size_t> now(classes(), choices);
    auto const less = [&](std::size_t a, std::size_t b) {  // entries of one class
      return std::tuple(table[a].device, table[a].host, a) < std::tuple(table[b].device, table[b].host, b);
    };
    std::size_t unseen = classes();
    auto const take = [&](std::size_t e) {
      auto& c = now[e / choices];
      auto const n = static_cast<std::int64_t>(count[e / choices]);
      auto const first = c == choices;
      if (!first && !less(e, e / choices * choices + c)) return;
      sum += n * (table[e].device - (first ? 0 : at(e / choices, c).device));
      unseen -= first ? 1 : 0;
      c = e % choices;
    };
    for (auto const e : order) {
      take(e);
      auto const all = sum + static_cast<std::int64_t>(options.buffers) * table[e].buffer;
      if (unseen > 0 || (best >= 0 && all >= best)) continue;
      best = all;
      size = table[e].buffer;
    }
    now.assign(classes(), choices);
    for (auto const e : order)
      if (table[e].buffer <= size) take(e);
    return {(std::max)(best, std::int64_t{0}), std::move(now)};
  }

  /// Ranges of the size of a buffer, at most `most` of them, that together contain the need of every choice.
  [[nodiscard]] std::vector<buffer_range> buffer_ranges(std::size_t most) const {
    std::vector<std::int64_t> sizes;
    sizes.reserve(table.size());
    for (auto const& c : table) sizes.push_back(c.buffer);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    auto const ranges = (std::min)(sizes.size(), most);
    std::vector<buffer_range> out;
    for (std::size_t r = 0; r < ranges; ++r) {
      auto const low = sizes[r * sizes.size() / ranges];
      auto const room = options.device_memory - static_cast<std::int64_t>(options.buffers) * low;
      if (room >= 0) out.push_back({sizes[(r + 1) * sizes.size() / ranges - 1], room});
    }
    return out;
  }

  /// No placement that fits the device takes less of the host.
  [[nodiscard]] std::int64_t least_host() const {
    auto least = (std::numeric_limits<std::int64_t>::max)();
    for (auto const& range : buffer_ranges(classes() > 64 ? 8 : 32)) least = (std::min)(least, least_host(range));
    return layers() == 0 ? 0 : least;
  }

  offload_options options;
  std::vector<offload_choice> table;                          // choices of each class
  std::vector<std::uint64_t> count;                           // layers of each class
  std::vector<std::uint32_t> class_of;                        // of each layer
  std::vector<std::pair<std::int64_t, std::int64_t>> passes;  // forward and backward of each layer
  std::int64_t forward = 0, backward = 0;                     // of all layers
  std::int64_t last_backward = 0;                             // of the last layer: nothing leaves the device before it ends

 private:
  /// The same for buffers in a range: the best price of the device's bytes, in 2^-16 of the host's.
  [[nodiscard]] std::int64_t least_host(buffer_range const& range) const {
    std::int64_t best = 0, low = 0, high = 64 << 16;
    while (high - low > 1) {
      auto const price = low + (high - low) / 2;
      std::int64_t host = 0, device = 0;
      for (std::size_t k = 0; k < classes(); ++k) {
        auto const n = static_cast<std::int64_t>(count[k]);
        std::size_t chosen = 0;  // nothing on the host needs no buffer
        for (std::size_t c = 1; c < choices; ++c) {
          auto const &now = at(k, c), &before = at(k, chosen);
          if (now.buffer <= range.largest &&
              compare_products(price, now.device - before.device, std::int64_t{1} << 16, before.host - now.host) < 0)
            chosen = c;
        }
        host += n * at(k, chosen).host;
        device += n * at(k, chosen).device;
      }
      auto const over = device - range.room;
      if (over > 0) {
        best = (std::max)(best, host + static_cast<std::int64_t>(multiply_divide_up(
                                           static_cast<std::uint64_t>(over), static_cast<std::uint64_t>(price), std::uint64_t{1} << 16)));
        low = price;
      } else {
        high = price;
      }
    }
    return best;
  }
  [[nodiscard]] offload_choice choice_of(offload_layer const& layer, hosted what) const {
    auto const bytes = memory_of<>(std::span(&layer, 1), std::span(&what, 1), 1);
    auto times = prefetch_layer_of(layer, what, options.rates);
    times.forward = 0;
    times.backward -= layer.backward;
    return {times, bytes.device - bytes.buffers, bytes.buffers, bytes.host};
  }
};

/// Sums of choices.
struct offload_totals {
  std::int64_t device = 0, buffer = 0, host = 0, updated = 0, load = 0, back = 0, down = 0, updates = 0;
  void add(offload_choice const& c, std::int64_t times) noexcept {
    add_sums(c, times);
    buffer = (std::max)(buffer, c.buffer);
  }
  void add_sums(offload_choice const& c, std::int64_t times) noexcept {
    device += times * c.device;
    host += times * c.host;
    updated += times * c.times.backward;
    load += times * c.times.load;
    back += times * c.times.give_back;
    down += times * c.times.store;
    updates += times * c.times.update;
  }
  [[nodiscard]] std::int64_t device_with(std::uint64_t buffers) const noexcept {
    return device + static_cast<std::int64_t>(buffers) * buffer;
  }
  /// A lower bound on the time.
  [[nodiscard]] std::int64_t over_time(offload_problem<> const& p) const noexcept {
    auto const behind = (std::max)(p.backward + updated, p.last_backward + (std::max)(down, updates));
    return (std::max)((std::max)(p.forward, load) + behind, 2 * load + back);
  }
};

}  // namespace ballast::inline v0_2::detail
