// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of streams/: samples that arrive into training steps.
///
/// `outlier_stream` makes a step of each block of samples and lets long ones wait for a balanced step, no longer than a deadline;
/// `one_by_one` gathers single samples into blocks for it, and `mixture_stream` draws the source of each next sample.
/// `stream_checker` validates the steps, as they come.
/// @code
/// ballast::quadratic_cost const cost{.linear = 35873, .quadratic = 1};
/// ballast::one_by_one stream(ballast::outlier_stream({.micro_batches = 8, .capacity = {262144}, .deadline = 16}, cost), 1'000'000);
/// for (auto const length : arriving) {
///   stream.push(length);
///   while (stream.ready()) train_on(stream.pop().micro_batches);    // numbers of samples, counted from the first
/// }
/// @endcode

#include <ballast/streams/check.hpp>
#include <ballast/streams/mixture.hpp>
#include <ballast/streams/one_by_one.hpp>
#include <ballast/streams/outlier_stream.hpp>
#include <ballast/streams/stream_step.hpp>
