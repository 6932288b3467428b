#pragma once

namespace assay {

/// main() of the worker process: serves requests on `fd` until it closes. Returns the exit code.
int run_worker(int fd, int index);

/// main() of the process that compute-sanitizer watches: launches once what the file asks for.
/// Returns the exit code.
int run_launch(const char* file, int index);

}  // namespace assay
