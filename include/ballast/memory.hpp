// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of memory/: the order of operators that needs least memory, addresses of buffers, and PyTorch's allocator.
///
/// `order_operators` orders a graph (graph/graph.hpp), `buffers_of` says when each tensor is in use, `layout_buffers` gives it an address,
/// and `replay_allocator` says what PyTorch's caching allocator would have reserved. `plan_regions` orders a graph whose sizes depend on
/// the batch, once for each region of its dimensions.

#include <ballast/memory/allocator_types.hpp>
#include <ballast/memory/bounds.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/buffer_addresses.hpp>
#include <ballast/memory/caching_allocator.hpp>
#include <ballast/memory/check_allocator.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/check_order.hpp>
#include <ballast/memory/fast_layout.hpp>
#include <ballast/memory/fit_layouts.hpp>
#include <ballast/memory/folded_order.hpp>
#include <ballast/memory/list_orders.hpp>
#include <ballast/memory/order.hpp>
#include <ballast/memory/order_bounds.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/memory/region_orders.hpp>
#include <ballast/memory/replay_allocator.hpp>
#include <ballast/memory/symbolic_order.hpp>
