// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one place that knows which Catch2 this is; tests use only what 2.13 and 3.x share.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
