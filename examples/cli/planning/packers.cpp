// SPDX-License-Identifier: Apache-2.0
#include "planning/packers.hpp"

#include "report/progress.hpp"

#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/near_optimal.hpp>
#include <ballast/packing/vector/portfolio.hpp>
#include <ballast/packing/worst_fit.hpp>

#include <stdexcept>

namespace ballast_cli {

namespace {
constexpr auto searching = "searching for fewer packs";
}

template <class Index>
ballast::packing<Index> run_packer(strategy which, std::span<std::int64_t const> lengths, ballast::packing_options const& options,
                                   std::uint64_t work) {
  progress_line progress(searching);
  switch (which) {
    case strategy::automatic: return ballast::pack<Index>(lengths, options, {.progress = progress});
    case strategy::near_optimal: return ballast::near_optimal<Index>(lengths, options, {.work = work, .progress = progress});
    case strategy::next_fit: return ballast::next_fit<Index>(lengths, options);
    case strategy::first_fit: return ballast::first_fit<Index>(lengths, options);
    case strategy::ffd: return ballast::first_fit_decreasing<Index>(lengths, options);
    case strategy::bfd: return ballast::best_fit_decreasing<Index>(lengths, options);
    case strategy::worst_fit: return ballast::worst_fit<Index>(lengths, options);
    case strategy::ffs: return ballast::first_fit_shuffled<Index>(lengths, options);
    case strategy::bfs: return ballast::best_fit_shuffled<Index>(lengths, options);
    case strategy::online: return ballast::best_fit<Index>(lengths, options);
    default: throw std::logic_error("a strategy without a packer of one measure");
  }
}

template <class Index>
ballast::vector_packing<Index> run_packer(strategy which, ballast::sample_measures const& samples,
                                          ballast::vector_packing_options const& options, std::uint64_t work) {
  progress_line progress(searching);
  switch (which) {
    case strategy::automatic:
    case strategy::portfolio: return ballast::pack_portfolio<Index>(samples, options, {.limits = {.progress = progress}});
    case strategy::isf: return ballast::iterative_sampling<Index>(samples, options);
    case strategy::completion: return ballast::bin_completion<Index>(samples, options);
    case strategy::vector_best_fit: return ballast::vector_best_fit<Index>(samples, options);
    case strategy::near_optimal: return ballast::near_optimal<Index>(samples, options, {.work = work, .progress = progress});
    default: throw std::logic_error("a strategy without a packer of several measures");
  }
}

template ballast::packing<std::uint32_t> run_packer(strategy, std::span<std::int64_t const>, ballast::packing_options const&,
                                                    std::uint64_t);
template ballast::packing<std::uint64_t> run_packer(strategy, std::span<std::int64_t const>, ballast::packing_options const&,
                                                    std::uint64_t);
template ballast::vector_packing<std::uint32_t> run_packer(strategy, ballast::sample_measures const&,
                                                           ballast::vector_packing_options const&, std::uint64_t);
template ballast::vector_packing<std::uint64_t> run_packer(strategy, ballast::sample_measures const&,
                                                           ballast::vector_packing_options const&, std::uint64_t);

}  // namespace ballast_cli
