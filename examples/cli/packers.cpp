// SPDX-License-Identifier: Apache-2.0
#include "packers.hpp"

#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/worst_fit.hpp>

#include <stdexcept>

namespace ballast_cli {

template <class Index>
ballast::packing<Index> run_packer(strategy which, std::span<std::int64_t const> lengths, ballast::packing_options const& options) {
  switch (which) {
    case strategy::next_fit: return ballast::next_fit<Index>(lengths, options);
    case strategy::first_fit: return ballast::first_fit<Index>(lengths, options);
    case strategy::ffd: return ballast::first_fit_decreasing<Index>(lengths, options);
    case strategy::bfd: return ballast::best_fit_decreasing<Index>(lengths, options);
    case strategy::worst_fit: return ballast::worst_fit<Index>(lengths, options);
    case strategy::ffs: return ballast::first_fit_shuffled<Index>(lengths, options);
    case strategy::bfs: return ballast::best_fit_shuffled<Index>(lengths, options);
    case strategy::online: return ballast::best_fit<Index>(lengths, options);
  }
  throw std::logic_error("a strategy without a packer");
}

template ballast::packing<std::uint32_t> run_packer(strategy, std::span<std::int64_t const>, ballast::packing_options const&);
template ballast::packing<std::uint64_t> run_packer(strategy, std::span<std::int64_t const>, ballast::packing_options const&);

}  // namespace ballast_cli
