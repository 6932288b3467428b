#pragma once

namespace assay {

/// The emulator among the GPUs, which count from 0: kernels run on the CPU, and no time is one.
inline constexpr int kEmulatorIndex = -1;

}  // namespace assay
