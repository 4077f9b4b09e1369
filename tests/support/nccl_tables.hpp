// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/calibration.hpp>

#include <vector>

// Published times of collectives: size of the whole array in bytes, milliseconds. As nccl-tests counts, out of place.

namespace ballast_test {

/// All-reduce on one DGX H100, 8 devices, from 1 MiB on: NVIDIA/dgxc-benchmarking, nccl/README.md.
inline std::vector<ballast::timing> const all_reduce_one_node{
    {1 << 20, 0.02737}, {1 << 21, 0.04221},      {1 << 22, 0.05419},      {1 << 23, 0.08304},      {1 << 24, 0.1238},
    {1 << 25, 0.1993},  {1 << 26, 0.3247},       {1 << 27, 0.5864},       {1 << 28, 1.1125},       {1 << 29, 2.1510},
    {1 << 30, 4.0294},  {2'147'483'648, 7.9391}, {4'294'967'296, 15.749}, {8'589'934'592, 31.307}, {17'179'869'184, 62.648}};

/// All-reduce on two nodes of 8 H100 each, from 1 MiB on: lessizzmore/create-a3mega-ztan-fork, ztan-NCCL-test-result.markdown.
inline std::vector<ballast::timing> const all_reduce_two_nodes{
    {1 << 20, 0.2032}, {1 << 21, 0.2540},       {1 << 22, 0.3646},       {1 << 23, 0.5719},      {1 << 24, 0.9776},
    {1 << 25, 1.0599}, {1 << 26, 1.2616},       {1 << 27, 1.6522},       {1 << 28, 2.3609},      {1 << 29, 3.8175},
    {1 << 30, 6.7590}, {2'147'483'648, 12.646}, {4'294'967'296, 24.361}, {8'589'934'592, 47.535}};

}  // namespace ballast_test
