#pragma once

namespace assay {

/// main() of the worker process: serves requests on `fd` until it closes. Returns the exit code.
int run_worker(int fd, int index);

}  // namespace assay
