// Prints what an H200 computes, for the tests of the emulator: the files operations.txt,
// products.txt and tensor_maps.txt of this folder, with the operations, maps and copies there.
//   nvcc -gencode arch=compute_90a,code=sm_90a -std=c++17 -o probe probe.cu
//   ./probe . NEW_FOLDER
// A process of its own makes each copy that may end in an error, so this takes a minute.

#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "inputs.h"

using u64 = std::uint64_t;
using u32 = std::uint32_t;

#define CHECK(call)                                          \
  do {                                                       \
    const int result_ = static_cast<int>(call);              \
    if (result_ != 0) {                                      \
      std::printf("line %d: error %d\n", __LINE__, result_); \
      std::exit(1);                                          \
    }                                                        \
  } while (0)

template <typename T>
T* allocate(std::size_t count) {
  T* memory = nullptr;
  CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
  return memory;
}

void print_words(FILE* out, const u32* words, std::size_t count) {
  std::fprintf(out, " %x", h200::checksum(words, count));
}

// ---- operations of a lane

// Approximations are printed; of the others eight checksums, of 64 cases each.
void probe_operation(FILE* out, const char* line) {
  constexpr int kCases = 512;
  char operands[8], name[64];
  if (std::sscanf(line, "%7s %63s", operands, name) != 2) std::exit(1);
  u64* const in = allocate<u64>(3 * kCases);
  u64* const result = allocate<u64>(kCases);
  for (int i = 0; i < 3 * kCases; ++i) in[i] = h200::operand(i % kCases, i / kCases);
  cudaLibrary_t library;
  cudaKernel_t kernel;
  const std::string ptx = h200::operation_ptx(operands, name);
  CHECK(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&kernel, library, "k"));
  u64 *x = in, *y = in + kCases, *z = in + 2 * kCases, *o = result;
  void* arguments[] = {&x, &y, &z, &o};
  CHECK(cudaLaunchKernel(reinterpret_cast<void*>(kernel), kCases / 128, 128, arguments));
  CHECK(cudaDeviceSynchronize());
  const bool approximate = std::strstr(name, ".approx") || std::strstr(name, ".full");
  std::fprintf(out, "%s %s %c", operands, name, approximate ? '~' : '=');
  for (int i = 0; i < kCases; ++i) result[i] = h200::without_payload(name, result[i]);
  for (int i = 0; approximate && i < 48; ++i) {
    std::fprintf(out, " %llx", static_cast<unsigned long long>(result[i]));
  }
  for (int i = 0; !approximate && i < kCases; i += 64) {
    if (i == 0 && std::strncmp(name, "cvt.rna", 7) == 0) {
      std::fprintf(out, " 0");  // it keeps the bits of a NaN
    } else {
      print_words(out, reinterpret_cast<u32*>(result + i), 128);
    }
  }
  std::fprintf(out, "\n");
}

// ---- mma.sync: register r of lane l is word r * 32 + l

// X(name, registers of a, of b, of c, exponent and fraction bits of a, of c)
#define MMA(X)                                                        \
  X("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, 8, 7, 8, 23)       \
  X("m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4, 8, 7, 8, 23)        \
  X("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, 5, 10, 8, 23)        \
  X("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, 5, 10, 8, 23)         \
  X("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, 5, 10, 5, 10)        \
  X("m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2, 5, 10, 5, 10)         \
  X("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, 8, 23, 8, 23)       \
  X("m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, 8, 23, 8, 23)       \
  X("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, 4, 3, 8, 23)       \
  X("m16n8k32.row.col.f32.e5m2.e5m2.f32", 4, 2, 4, 5, 2, 8, 23)       \
  X("m16n8k32.row.col.s32.s8.s8.s32", 4, 2, 4, 0, 7, 0, 31)           \
  X("m16n8k32.row.col.s32.u8.u8.s32", 4, 2, 4, 0, 7, 0, 31)           \
  X("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4, 0, 7, 0, 31) \
  X("m16n8k16.row.col.s32.s8.s8.s32", 2, 1, 4, 0, 7, 0, 31)

__global__ void mma_kernel(int form, const u32* a, const u32* b, const u32* c, u32* d) {
  const int l = threadIdx.x;
  u32 D[4], A[4], B[2], C[4];
  for (int i = 0; i < 4; ++i) A[i] = a[i * 32 + l], C[i] = c[i * 32 + l];
  for (int i = 0; i < 2; ++i) B[i] = b[i * 32 + l];
  int i = 0;
#define A4 "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}"
#define A2 "{%4,%5}, {%8}, {%10,%11,%12,%13}"
#define H4 "{%4,%5,%6,%7}, {%8,%9}, {%10,%11}"
#define H2 "{%4,%5}, {%8}, {%10,%11}"
#define GO(NAME, OUT, IN)                                                                     \
  asm volatile("mma.sync.aligned." NAME " " OUT ", " IN ";"                                   \
               : "=r"(D[0]), "=r"(D[1]), "=r"(D[2]), "=r"(D[3])                               \
               : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(B[0]), "r"(B[1]), "r"(C[0]), \
                 "r"(C[1]), "r"(C[2]), "r"(C[3]))
#define IN_44 A4
#define IN_24 A2
#define IN_42 H4
#define IN_22 H2
#define OUT_4 "{%0,%1,%2,%3}"
#define OUT_2 "{%0,%1}"
#define X(NAME, RA, RB, RC, ...) \
  if (form == i++) GO(NAME, OUT_##RC, IN_##RA##RC);
  D[2] = D[3] = 0;
  MMA(X)
#undef X
  for (int r = 0; r < 4; ++r) d[r * 32 + l] = D[r];
}

void probe_mma(FILE* out) {
  struct Form {
    const char* name;
    int registers_a, registers_b, registers_c, exponent_bits, fraction_bits, sum_exponent_bits,
        sum_fraction_bits;
  };
#define X(NAME, ...) {NAME, __VA_ARGS__},
  const Form forms[] = {MMA(X)};
#undef X
  u32* const data = allocate<u32>(4 * 128);
  int number = 0;
  for (const Form& form : forms) {
    std::fprintf(out, "mma %s", form.name);
    for (int run = 0; run < h200::kMmaRuns; ++run) {
      const h200::ProductDraw draw = h200::mma_draw(run);
      for (int i = 0; i < 128; ++i) {
        data[i] = h200::product_word(i, draw, h200::kFirst, form.exponent_bits, form.fraction_bits);
        data[128 + i] =
            h200::product_word(i, draw, h200::kSecond, form.exponent_bits, form.fraction_bits);
        data[256 + i] = h200::product_word(i, draw, h200::kSums, form.sum_exponent_bits,
                                           form.sum_fraction_bits);
      }
      mma_kernel<<<1, 32>>>(number, data, data + 128, data + 256, data + 384);
      CHECK(cudaDeviceSynchronize());
      print_words(out, data + 384, form.registers_c * 32);
    }
    std::fprintf(out, "\n");
    ++number;
  }
}

// ---- wmma: checksums of the sums in memory, and of the registers

void probe_wmma(FILE* out, const char* line) {
  const h200::WmmaForm form(line + 5);
  const int in_words = 3 * h200::kWmmaWords, out_words = h200::kWmmaWords + 1024;
  u32 *in = allocate<u32>(in_words), *result = allocate<u32>(out_words);
  cudaLibrary_t library;
  cudaKernel_t kernel;
  const std::string ptx = h200::wmma_ptx(form);
  CHECK(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK(cudaLibraryGetKernel(&kernel, library, "k"));
  std::fprintf(out, "wmma %s %s %s %s %s %s", form.shape, form.layouts[0], form.layouts[1],
               form.layouts[2], form.factor, form.sum);
  for (int run = 0; run < h200::kWmmaRuns; ++run) {
    for (int i = 0; i < in_words; ++i) in[i] = h200::wmma_word(form, i, h200::mma_draw(run * 3));
    std::memset(result, 0, out_words * sizeof(u32));
    void* arguments[] = {&in, &result};
    CHECK(cudaLaunchKernel(reinterpret_cast<void*>(kernel), 1, 32, arguments));
    CHECK(cudaDeviceSynchronize());
    print_words(out, result, h200::kWmmaWords);
    print_words(out, result + h200::kWmmaWords, 1024);
  }
  std::fprintf(out, "\n");
}

// ---- wgmma: word w of the shared window is word w; registers are numbered register * 128 + thread

#define D4 "{%0,%1,%2,%3}"
#define D8 "{%0,%1,%2,%3,%4,%5,%6,%7}"
#define D2 "{%0,%1}"
#define DS "%8, %9, p"
#define DR "{%11,%12,%13,%14}, %9, p"
// X(instruction, variant, registers of d, operands, number of these, a in registers, exponent and
// fraction bits, N, a and b transposed)
#define WGMMA(X)                                                                      \
  X("m64n8k16.f32.bf16.bf16", "", D4, DS ", 1, 1, 0, 0", 4, 0, 8, 7, 8, 0, 0)         \
  X("m64n8k16.f32.bf16.bf16", "tb", D4, DS ", 1, 1, 0, 1", 4, 0, 8, 7, 8, 0, 1)       \
  X("m64n8k16.f32.bf16.bf16", "ta", D4, DS ", 1, 1, 1, 0", 4, 0, 8, 7, 8, 1, 0)       \
  X("m64n16k16.f32.bf16.bf16", "", D8, DS ", 1, 1, 0, 0", 8, 0, 8, 7, 16, 0, 0)       \
  X("m64n16k16.f32.bf16.bf16", "ta,tb", D8, DS ", 1, 1, 1, 1", 8, 0, 8, 7, 16, 1, 1)  \
  X("m64n16k16.f32.bf16.bf16", "na", D8, DS ", -1, 1, 0, 0", 8, 0, 8, 7, 16, 0, 0)    \
  X("m64n16k16.f32.bf16.bf16", "ra", D8, DR ", 1, 1, 0", 8, 1, 8, 7, 16, 0, 0)        \
  X("m64n16k16.f32.bf16.bf16", "ra,nb,tb", D8, DR ", 1, -1, 1", 8, 1, 8, 7, 16, 0, 1) \
  X("m64n8k16.f32.f16.f16", "", D4, DS ", 1, 1, 0, 0", 4, 0, 5, 10, 8, 0, 0)          \
  X("m64n16k16.f16.f16.f16", "", D4, DS ", 1, 1, 0, 0", 4, 0, 5, 10, 16, 0, 0)        \
  X("m64n8k16.f16.f16.f16", "", D2, DS ", 1, 1, 0, 0", 2, 0, 5, 10, 8, 0, 0)          \
  X("m64n8k8.f32.tf32.tf32", "", D4, DS ", 1, 1", 4, 0, 8, 23, 8, 0, 0)               \
  X("m64n8k8.f32.tf32.tf32", "ra", D4, DR ", 1, 1", 4, 1, 8, 23, 8, 0, 0)             \
  X("m64n8k32.f32.e4m3.e4m3", "", D4, DS ", 1, 1", 4, 0, 4, 3, 8, 0, 0)               \
  X("m64n8k32.f32.e5m2.e5m2", "", D4, DS ", 1, 1", 4, 0, 5, 2, 8, 0, 0)               \
  X("m64n8k32.f32.e4m3.e4m3", "ra", D4, DR ", 1, 1", 4, 1, 4, 3, 8, 0, 0)             \
  X("m64n8k32.f16.e4m3.e4m3", "", D2, DS ", 1, 1", 2, 0, 4, 3, 8, 0, 0)               \
  X("m64n8k32.s32.s8.s8", "", D4, DS, 4, 0, 0, 7, 8, 0, 0)                            \
  X("m64n8k32.s32.u8.u8", "", D4, DS, 4, 0, 0, 7, 8, 0, 0)                            \
  X("m64n8k32.s32.s8.s8", "ra", D4, DR, 4, 1, 0, 7, 8, 0, 0)                          \
  X("m64n8k32.s32.s8.s8.satfinite", "", D4, DS, 4, 0, 0, 7, 8, 0, 0)

constexpr int kWindowBytes = 200 * 1024;
__global__ void __launch_bounds__(128)
    wgmma_kernel(int form, u64 da, u64 db, int scale, const u32* window, const u32* a, const u32* c,
                 u32* d) {
  extern __shared__ unsigned char shared[];
  const u32 base = static_cast<u32>(__cvta_generic_to_shared(shared));
  for (u32 i = h200::kFirstAddress + threadIdx.x * 4; i < kWindowBytes; i += 512)
    *reinterpret_cast<u32*>(shared + (i - base)) = window[i / 4];
  u32 D[8], A[4];
  for (int i = 0; i < 8; ++i) D[i] = c[i * 128 + threadIdx.x];
  for (int i = 0; i < 4; ++i) A[i] = a[i * 128 + threadIdx.x];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  int i = 0;
#define X(NAME, VARIANT, OUT, REST, ...)                                                        \
  if (form == i++)                                                                              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\nwgmma.mma_async.sync.aligned." NAME \
                 " " OUT ", " REST ";\n}"                                                       \
                 : "+r"(D[0]), "+r"(D[1]), "+r"(D[2]), "+r"(D[3]), "+r"(D[4]), "+r"(D[5]),      \
                   "+r"(D[6]), "+r"(D[7])                                                       \
                 : "l"(da), "l"(db), "r"(scale), "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3])     \
                 : "memory");
  WGMMA(X)
#undef X
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int j = 0; j < 8; ++j) asm volatile("" : "+r"(D[j])::"memory");
  for (int j = 0; j < 8; ++j) d[j * 128 + threadIdx.x] = D[j];
}

void probe_wgmma(FILE* out, int section) {
  struct Form {
    const char *name, *variant;
    int registers, a_in_registers, exponent_bits, fraction_bits, columns, a_transposed,
        b_transposed;
  };
#define X(NAME, VARIANT, OUT, REST, ...) {NAME, VARIANT, __VA_ARGS__},
  const Form forms[] = {WGMMA(X)};
#undef X
  u32* const window = allocate<u32>(kWindowBytes / 4);
  u32* const a = allocate<u32>(4 * 128);
  u32* const c = allocate<u32>(8 * 128);
  u32* const d = allocate<u32>(8 * 128);
  CHECK(cudaFuncSetAttribute(wgmma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kWindowBytes));
  int number = 0;
  for (const Form& form : forms) {
    std::fprintf(out, "wgmma %d %d %s %s", section, number, form.name,
                 *form.variant ? form.variant : "-");
    const bool half = std::strstr(form.name, "k16.f16") || std::strstr(form.name, "k32.f16");
    const int sum_exponent_bits = form.exponent_bits == 0 ? 0 : half ? 5 : 8;
    for (int run = 0; run < h200::kWgmmaRuns; ++run) {
      const h200::WgmmaRequest request =
          h200::wgmma_request(section, number, run, form.a_transposed, form.b_transposed);
      const auto fill = [&](u32* words, int count, h200::Part part, int exponent_bits,
                            int fraction_bits) {
        for (int i = 0; i < count; ++i) {
          words[i] = h200::product_word(i, request.draw, part, exponent_bits, fraction_bits);
        }
      };
      fill(window, kWindowBytes / 4, h200::kFirst, form.exponent_bits, form.fraction_bits);
      fill(a, 4 * 128, h200::kSecond, form.exponent_bits, form.fraction_bits);
      fill(c, 8 * 128, h200::kSums, sum_exponent_bits, half ? 10 : 23);
      wgmma_kernel<<<1, 128, kWindowBytes>>>(number, request.a, request.b, request.accumulate,
                                             window, a, c, d);
      CHECK(cudaDeviceSynchronize());
      print_words(out, d, form.registers * 128);
    }
    std::fprintf(out, "\n");
    ++number;
  }
}

// ---- tensor maps and copies

int encode(CUtensorMap* map, const h200::MapRequest& request, unsigned char* memory) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static Encode function = nullptr;
  if (function == nullptr) {
    cudaDriverEntryPointQueryResult found;
    void* address = nullptr;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                           cudaEnableDefault, &found));
    function = reinterpret_cast<Encode>(address);
  }
  return request.encode(function, map, memory);
}

constexpr int kTypeBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

__device__ void tensor_copy(const CUtensorMap* map, u32 shared, u32 barrier, int rank, int mode,
                            const int* at) {
#define LOAD(D, C)                                                                                \
  asm volatile("cp.async.bulk.tensor." D                                                          \
               ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" C              \
               "}], [%2];" ::"r"(shared),                                                         \
               "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) \
               : "memory")
#define STORE(D, C)                                                                               \
  asm volatile("cp.async.bulk.tensor." D ".global.shared::cta.bulk_group [%1, {" C                \
               "}], [%0];" ::"r"(shared),                                                         \
               "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) \
               : "memory")
#define REDUCE(OP)                                                                                \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." OP                            \
               ".tile.bulk_group [%1, {%3,%4}], [%0];" ::"r"(shared),                             \
               "l"(map), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]) \
               : "memory")
  if (mode == 0) {
    if (rank == 1) LOAD("1d", "%3");
    if (rank == 2) LOAD("2d", "%3,%4");
    if (rank == 3) LOAD("3d", "%3,%4,%5");
    if (rank == 4) LOAD("4d", "%3,%4,%5,%6");
    if (rank == 5) LOAD("5d", "%3,%4,%5,%6,%7");
  } else if (mode == 1) {
    if (rank == 1) STORE("1d", "%3");
    if (rank == 2) STORE("2d", "%3,%4");
    if (rank == 3) STORE("3d", "%3,%4,%5");
    if (rank == 4) STORE("4d", "%3,%4,%5,%6");
    if (rank == 5) STORE("5d", "%3,%4,%5,%6,%7");
  }
  if (mode == 2) REDUCE("add");
  if (mode == 3) REDUCE("min");
  if (mode == 4) REDUCE("max");
  if (mode == 5) REDUCE("inc");
  if (mode == 6) REDUCE("dec");
  if (mode == 7) REDUCE("and");
  if (mode == 8) REDUCE("or");
  if (mode == 9) REDUCE("xor");
}

struct Coordinates {
  int at[5];
};

__global__ void copy_kernel(const __grid_constant__ CUtensorMap map, int rank, int mode,
                            Coordinates where, u32 bytes, u32 shared_at, u32 window_bytes,
                            u32* window) {
  extern __shared__ unsigned char shared[];
  __shared__ alignas(8) u64 barrier_word;
  const u32 base = static_cast<u32>(__cvta_generic_to_shared(shared));
  const u32 barrier = static_cast<u32>(__cvta_generic_to_shared(&barrier_word));
  if (base + 0 > shared_at || threadIdx.x != 0) return;
  u32* box = reinterpret_cast<u32*>(shared + (shared_at - base));
  for (u32 i = 0; i < window_bytes / 4; ++i) box[i] = window[i];
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], "
      "1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::"r"(barrier)
      : "memory");
  int at[5];
  for (int i = 0; i < 5; ++i) at[i] = where.at[i];
  if (mode == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
  tensor_copy(&map, shared_at, barrier, rank, mode, at);
  if (mode == 0) {
    u32 done = 0;
    for (int turn = 0; turn < 100000 && !done; ++turn) {
      asm volatile(
          "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, "
          "1, 0, p;\n}"
          : "=r"(done)
          : "r"(barrier)
          : "memory");
    }
    for (u32 i = 0; i < window_bytes / 4; ++i) window[i] = box[i];
    window[window_bytes / 4] = done;
  } else {
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    window[window_bytes / 4] = 1;
  }
}

constexpr int kTensorWords = 1 << 14, kBoxWords = 1 << 11;

void probe_maps(FILE* out, const char* line) {
  std::string results;
  const auto add = [&](const h200::MapRequest& request, long long value, int) {
    CUtensorMap map;
    const int result = encode(&map, request, reinterpret_cast<unsigned char*>(1 << 20));
    results += " " + std::to_string(value) + ":" + std::to_string(result);
  };
  const std::string ahead = h200::read_maps(line, add);
  std::fprintf(out, "%s%s\n", ahead.c_str(), results.c_str());
}

// Reads a line up to its colon, does what it says, and prints what came of it.
void probe_copy(FILE* out, const char* line) {
  char* next = const_cast<char*>(line) + std::strlen("copy");
  const h200::MapRequest r = h200::read_map(&next);
  const auto field = [&] { return std::strtoll(next, &next, 10); };
  u32* const tensor = allocate<u32>(kTensorWords);
  CUtensorMap map;
  CHECK(encode(&map, r, reinterpret_cast<unsigned char*>(tensor)));
  const int mode = field();
  Coordinates where;
  for (int& x : where.at) x = field();
  const int seed = field();
  const u32 shared_at = field();
  const std::int64_t *const box = r.fields + r.kBox, *const steps = r.fields + r.kSteps;
  u64 bytes = kTypeBytes[r.type()] * box[0];
  for (unsigned i = 1; i < r.rank(); ++i) bytes *= (box[i] + steps[i] - 1) / steps[i];
  u32* const window = allocate<u32>(kBoxWords + 1);
  h200::fill_copy(tensor, kTensorWords, seed, 0, mode, r.type());
  h200::fill_copy(window, kBoxWords, seed, 1, mode, r.type());
  CHECK(cudaFuncSetAttribute(copy_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  copy_kernel<<<1, 32, 32 * 1024>>>(map, r.rank(), mode, where, static_cast<u32>(bytes), shared_at,
                                    kBoxWords * 4, window);
  const int error = cudaDeviceSynchronize();
  std::fprintf(out, "%.*s:%d", static_cast<int>(std::strcspn(line, ":")), line,
               error ? error : static_cast<int>(window[kBoxWords]));
  if (!error) {
    print_words(out, tensor, kTensorWords);
    print_words(out, window, kBoxWords);
  }
  std::fprintf(out, "\n");
}

// In a process of its own: an error of CUDA stays with the process.
template <typename Work>
void apart(const std::string& path, const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    FILE* const out = std::fopen(path.c_str(), "a");
    work(out);
    std::fclose(out);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& path) {
  FILE* const in = std::fopen(path.c_str(), "r");
  if (in == nullptr) std::exit(2);
  char line[2048];
  Lines lines;
  while (std::fgets(line, sizeof line, in) != nullptr) lines.push_back(line);
  std::fclose(in);
  return lines;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string old_folder = arguments[1], folder = arguments[2];
  apart(folder + "/operations.txt", [&](FILE* out) {
    for (const std::string& line : lines_of(old_folder + "/operations.txt")) {
      probe_operation(out, line.c_str());
    }
  });
  apart(folder + "/products.txt", [&](FILE* out) {
    probe_mma(out);
    for (const std::string& line : lines_of(old_folder + "/products.txt")) {
      if (line.compare(0, 5, "wmma ") == 0) probe_wmma(out, line.c_str());
    }
    for (const int section : {0, 1, 2}) probe_wgmma(out, section);
  });
  const auto is_map = [](const std::string& line) { return line.compare(0, 3, "map") == 0; };
  const Lines lines = lines_of(old_folder + "/tensor_maps.txt");
  const std::string path = folder + "/tensor_maps.txt";
  apart(path, [&](FILE* out) {
    CHECK(cudaFree(nullptr));  // to encode a map needs a context
    for (const std::string& line : lines) {
      if (is_map(line)) probe_maps(out, line.c_str());
    }
  });
  for (const std::string& line : lines) {
    if (!is_map(line)) apart(path, [&](FILE* out) { probe_copy(out, line.c_str()); });
  }
}
