#pragma once

namespace assay {

/// Makes SIGINT and SIGTERM set a flag instead of ending the process, so that the sweep can store
/// what it has. A second signal ends the process at once. Called once, from main.
void catch_interrupts();

/// Whether a signal has arrived.
bool interrupted();

/// Throws Interrupted when a signal has arrived.
void check_interrupt();

/// A descriptor that becomes readable when a signal arrives, for poll(); -1 before
/// catch_interrupts.
int interrupt_fd();

}  // namespace assay
