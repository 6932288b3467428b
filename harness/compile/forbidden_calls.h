#pragma once

namespace assay {

/// From now on this process and what it forks can reach no network, start no other program and look
/// into no other process: such system calls fail with EPERM. Descriptors that are open stay usable.
/// Returns false where the system has no filter of system calls; then nothing changes.
///
/// NVRTC needs none of these calls. A source that breaks into the compiler finds none.
bool forbid_network_and_programs();

}  // namespace assay
