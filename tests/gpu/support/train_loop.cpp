// SPDX-License-Identifier: Apache-2.0
// The training loop of examples/gpu, with the pretended device in the place of its plain backend.
#include "pretended_device.hpp"

namespace ballast::gpu {
using ballast_test::on_pretended;
}
#define on_host on_pretended
#include "../../../examples/gpu/train_loop.cu"
