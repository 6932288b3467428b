// A stand-in for an NVRTC that cannot list the headers it reads: the real one, which refuses the
// options that ask for the list. With ASSAY_FAKE_NVRTC=out_of_memory it has no memory, either. With
// crash it crashes, and with crash:PATH only if it can make that file anew; with slow it takes 6 s.

#include <dlfcn.h>
#include <nvrtc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

template <class Function>
Function* real(Function&, const char* name) {
  static void* const library = dlopen(ASSAY_REAL_NVRTC, RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
  return reinterpret_cast<Function*>(function);
}

}  // namespace

#define PASS_ON(name, parameters, ...) \
  nvrtcResult name parameters { return real(name, #name)(__VA_ARGS__); }

PASS_ON(nvrtcVersion, (int* major, int* minor), major, minor)
PASS_ON(nvrtcGetNumSupportedArchs, (int* count), count)
PASS_ON(nvrtcGetSupportedArchs, (int* archs), archs)
PASS_ON(nvrtcCreateProgram,
        (nvrtcProgram * program, const char* text, const char* name, int num_headers,
         const char* const* headers, const char* const* names),
        program, text, name, num_headers, headers, names)
PASS_ON(nvrtcDestroyProgram, (nvrtcProgram * program), program)
PASS_ON(nvrtcAddNameExpression, (nvrtcProgram program, const char* name), program, name)
PASS_ON(nvrtcGetLoweredName, (nvrtcProgram program, const char* name, const char** lowered),
        program, name, lowered)
PASS_ON(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* size), program, size)
PASS_ON(nvrtcGetProgramLog, (nvrtcProgram program, char* log), program, log)
PASS_ON(nvrtcGetCUBINSize, (nvrtcProgram program, size_t* size), program, size)
PASS_ON(nvrtcGetCUBIN, (nvrtcProgram program, char* cubin), program, cubin)
PASS_ON(nvrtcGetPTXSize, (nvrtcProgram program, size_t* size), program, size)
PASS_ON(nvrtcGetPTX, (nvrtcProgram program, char* ptx), program, ptx)

const char* nvrtcGetErrorString(nvrtcResult result) {
  return real(nvrtcGetErrorString, "nvrtcGetErrorString")(result);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int num_options, const char* const* options) {
  const char* const fault = std::getenv("ASSAY_FAKE_NVRTC");
  if (fault != nullptr && std::strcmp(fault, "out_of_memory") == 0) {
    return NVRTC_ERROR_OUT_OF_MEMORY;
  }
  if (fault != nullptr && std::strcmp(fault, "slow") == 0) {
    ::sleep(6);
  } else if (fault != nullptr && (fault[5] == '\0' || std::fopen(fault + 6, "wx") != nullptr)) {
    std::raise(SIGSEGV);
  }
  const auto compile = real(nvrtcCompileProgram, "nvrtcCompileProgram");
  for (int i = 0; i < num_options; ++i) {
    const char* unknown = "--no-such-option";
    if (std::strcmp(options[i], "--trace_includes") == 0) return compile(program, 1, &unknown);
  }
  return compile(program, num_options, options);
}
