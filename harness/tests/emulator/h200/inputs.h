#pragma once

// The inputs that probe.cu computes with on a GPU, and that h200_test.cpp computes with again: made
// from indices, so that the text of the results need not hold them.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace h200 {

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr std::uint32_t kEdges[] = {
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x3F800001,
    0x477FE000, 0x477FEFFF, 0x477FF000, 0x43E00000, 0x43E80000, 0x43E80001, 0x47600000, 0x47700000,
    0x33800000, 0x33000000, 0x33000001, 0x38800000, 0x387FE000, 0x3F000000, 0x3FC00000, 0x40200000,
    0x4F000000, 0x4F800000, 0xCF000001, 0x5F000000, 0x5F800000, 0xDF000001, 0x3F808000, 0x3F818000,
    0x3F801000, 0x3F803000, 0x3F802FFF, 0x7F7F8000, 0x7F7FF000, 0x7F7F7FFF, 0x3C800000, 0x3B000000,
    0x3AFFFFFF, 0x3A800000, 0x37800000, 0x37000000, 0x37000001, 0xC2FC0000, 0xC3150000, 0x42FFFFFF,
    0x43000000, 0x3FC90FDB, 0x40490FDB, 0x47C35000, 0x41200000, 0xC1200000, 0x80800000, 0x3EFFFFFF};
constexpr int kNumEdges = 64;

/// Operand `which` (0 to 2) of case `i` of an operation: edges against edges, then numbers of
/// moderate size, then all bits at random. The upper half serves operands of 64 bits.
inline std::uint64_t operand(int i, int which) {
  const std::uint64_t random = mix(static_cast<std::uint64_t>(i) * 4 + which);
  if (i < kNumEdges) {
    const int edge = which == 0 ? i : static_cast<int>(random >> 40) % kNumEdges;
    return (random & 0xFFFFFFFF00000000u) | kEdges[edge];
  }
  if (i % 4 == 3) return random;
  const auto exponent = static_cast<std::uint32_t>(127 - 8 + (random >> 48) % 16);
  const auto low = static_cast<std::uint32_t>(random);
  return (random & 0x800FFFFF00000000u) | 0x3FF0000000000000u | (low & 0x807FFFFFu) |
         exponent << 23;
}

/// PTX of a kernel, of a thread for each case in blocks of 128: what `name` makes of the numbers at
/// p0, p1 and p2 goes to p3. `operands` has the letters of registers: h of 16 bits, r of 32, l of
/// 64; the result's first.
inline std::string operation_ptx(const std::string& operands, const std::string& name) {
  std::string ptx =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"
      ".reg .b16 %h<4>; .reg .b32 %r<7>; .reg .b64 %l<4>; .reg .b64 %at<3>;\n"
      "mov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %tid.x;\nmad.lo.u32 %r6, %r4, 128, %r5;\n"
      "mul.wide.u32 %at0, %r6, 8;\n";
  const auto find = [&](std::size_t parameter) {
    ptx += "ld.param.u64 %at1, [p" + std::to_string(parameter) + "];\nadd.u64 %at2, %at1, %at0;\n";
  };
  std::string operation = name + " %" + operands[0] + "3";
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
    const char letter = operands[i + 1];
    const std::string number = std::to_string(i);
    find(i);
    ptx += "ld.global.u64 %l" + number + ", [%at2];\n";
    if (letter == 'h') ptx += "cvt.u16.u64 %h" + number + ", %l" + number + ";\n";
    if (letter == 'r') ptx += "cvt.u32.u64 %r" + number + ", %l" + number + ";\n";
    operation += std::string(", %") + letter + number;
  }
  ptx += operation + ";\n";
  if (operands[0] == 'h') ptx += "cvt.u64.u16 %l3, %h3;\n";
  if (operands[0] == 'r') ptx += "cvt.u64.u32 %l3, %r3;\n";
  find(3);
  return ptx + "st.global.u64 [%at2], %l3;\nret;\n}\n";
}

/// How the elements of a matrix are drawn.
enum Kind { kSmallIntegers, kWide, kAnyBits, kSparse };

/// An element of a matrix, whose format has so many bits of exponent and of fraction (0 and 0:
/// an 8-bit integer).
inline std::uint32_t element(std::uint64_t key, int kind, int exponent_bits, int fraction_bits) {
  const std::uint64_t random = mix(key);
  const int bits = 1 + exponent_bits + fraction_bits;
  if (exponent_bits == 0) {
    return static_cast<std::uint32_t>(kind == kSmallIntegers ? random % 9 - 4 : random) & 0xFF;
  }
  if (kind == kAnyBits) return static_cast<std::uint32_t>(random & ((1ull << bits) - 1));
  const std::uint32_t bias = (1u << (exponent_bits - 1)) - 1;
  const auto sign = static_cast<std::uint32_t>(random >> 63) << (bits - 1);
  if (kind == kSmallIntegers) {  // 0, 1, 2, 3, 4
    const std::uint32_t number = static_cast<std::uint32_t>(random % 5);
    if (number == 0) return 0;
    const std::uint32_t log = number >= 4 ? 2 : number >= 2 ? 1 : 0;
    const std::uint32_t half = number == 3 ? 1u << (fraction_bits - 1) : 0;
    return sign | (bias + log) << fraction_bits | half;
  }
  if (kind == kSparse && random % 3 != 0)
    return static_cast<std::uint32_t>(random % 2) << (bits - 1);  // zeros of both signs
  const std::uint32_t spread = exponent_bits == 4                      ? 6
                               : exponent_bits == 8 && kind == kSparse ? 80
                                                                       : 12;
  const std::uint32_t exponent =
      bias - spread / 2 + static_cast<std::uint32_t>((random >> 40) % spread);
  return sign | exponent << fraction_bits |
         static_cast<std::uint32_t>(random & ((1u << fraction_bits) - 1));
}

/// A 32-bit word of shared memory or of a register, filled with elements.
inline std::uint32_t word(std::uint64_t index, int seed, int kind, int exponent_bits,
                          int fraction_bits) {
  const int bits = exponent_bits == 8 && fraction_bits > 7 ? 32
                   : 1 + exponent_bits + fraction_bits > 8 ? 16
                                                           : 8;
  std::uint32_t result = 0;
  for (int i = 0; i < 32 / bits; ++i) {
    const std::uint64_t key = (index * 4 + i) * 1000003 + static_cast<std::uint64_t>(seed) * 7919;
    result |= element(key, kind, exponent_bits, fraction_bits) << (i * bits);
  }
  return result;
}

/// How a product of probe.cu is drawn.
struct ProductDraw {
  int kind;
  int number;
};
constexpr int kMmaRuns = 30;
inline ProductDraw mma_draw(int run) {
  return {run < 2 ? kSmallIntegers : run < 20 ? kWide : run < 24 ? kAnyBits : kSparse, run};
}

/// Operands of a product: A, B (of wgmma: shared memory, and A in registers), and the sums before.
enum Part { kFirst = 1, kSecond = 2, kSums = 3 };

inline std::uint32_t product_word(int index, const ProductDraw& draw, Part part, int exponent_bits,
                                  int fraction_bits) {
  if (exponent_bits == 0 && part == kSums) {  // s32
    const auto sum = static_cast<std::uint32_t>(
        mix(static_cast<std::uint64_t>(index) + static_cast<std::uint64_t>(draw.number) * 1000));
    return sum >> (draw.number % 2 * 12);
  }
  return word(static_cast<std::uint64_t>(index), draw.number * 3 + part, draw.kind, exponent_bits,
              fraction_bits);
}

/// A product by wmma, as a line of products.txt has it: "m16n16k16 row col row f16 f32" are the
/// shape, how A, B and the sums lie in memory, and the types.
struct WmmaForm {
  char shape[16], layouts[3][8], factor[8], sum[8];
  int m, n, k;

  explicit WmmaForm(const char* text) {
    std::sscanf(text, "%15s %7s %7s %7s %7s %7s", shape, layouts[0], layouts[1], layouts[2], factor,
                sum);
    std::sscanf(shape, "m%dn%dk%d", &m, &n, &k);
  }
  int factor_bits() const { return factor[0] == 't' ? 32 : factor[1] == '8' ? 8 : 16; }
  /// Registers of A, B and the sums.
  int registers(int matrix) const {
    if (matrix == 2) return sum[1] == '1' ? 4 : 8;
    return factor[0] == 'f' ? 8 : (matrix == 0 ? m : n) * k * factor_bits() / 1024;
  }
};
constexpr int kWmmaRuns = 10, kWmmaWords = 2048;  // of A, of B and of the sums in memory

/// PTX of a kernel of one warp: loads A, B and the sums from p0, multiplies them, and stores the
/// sums at p1, with the registers of A, B, the sums before and the sums behind them.
inline std::string wmma_ptx(const WmmaForm& form) {
  std::string ptx =
      ".version 8.7\n.target sm_90a\n.address_size 64\n"
      ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n"
      ".reg .b32 %a<8>; .reg .b32 %b<8>; .reg .b32 %c<8>; .reg .b32 %d<8>; .reg .b32 %r;\n"
      ".reg .b64 %at<3>;\nld.param.u64 %at0, [p0];\nld.param.u64 %at1, [p1];\n";
  const auto list = [&](int matrix) {
    std::string text;
    for (int i = 0; i < form.registers(matrix < 3 ? matrix : 2); ++i) {
      text += std::string(i == 0 ? "{%" : ", %") + "abcd"[matrix] + std::to_string(i);
    }
    return text + "}";
  };
  const auto begin = [&](const char* what, int matrix) {
    const int rows = matrix == 1 ? form.k : form.m, columns = matrix == 0 ? form.k : form.n;
    const char* const layout = form.layouts[matrix];
    ptx += std::string("wmma.") + what + ".sync.aligned." + layout + "." + form.shape + ".global.";
    ptx += matrix == 2 ? form.sum : form.factor;
    return std::to_string((layout[0] == 'r' ? columns : rows) + 16);
  };
  for (int matrix = 0; matrix < 3; ++matrix) {
    const std::string pitch = begin(std::string("load.").append(1, "abc"[matrix]).c_str(), matrix);
    ptx += " " + list(matrix) + ", [%at0+" + std::to_string(matrix * kWmmaWords * 4) + "], " +
           pitch + ";\n";
  }
  const std::string sum = std::string(".") + form.sum, factor = std::string(".") + form.factor;
  ptx += std::string("wmma.mma.sync.aligned.") + form.layouts[0] + "." + form.layouts[1] + "." +
         form.shape + sum + (form.factor[0] == 'f' ? "" : factor + factor) + sum + " " + list(3) +
         ", " + list(0) + ", " + list(1) + ", " + list(2) + ";\n";
  const std::string pitch = begin("store.d", 2);
  ptx += " [%at1], " + list(3) + ", " + pitch + ";\nmov.u32 %r, %tid.x;\n";
  ptx += "mad.wide.u32 %at2, %r, 4, %at1;\n";
  for (int i = 0; i < 32; ++i) {
    if (i % 8 >= form.registers(i < 24 ? i / 8 : 2)) continue;
    ptx += "st.global.b32 [%at2+" + std::to_string(kWmmaWords * 4 + i * 128) + "], %" +
           "abcd"[i / 8] + std::to_string(i % 8) + ";\n";
  }
  return ptx + "ret;\n}\n";
}
/// Word i of what is at p0.
inline std::uint32_t wmma_word(const WmmaForm& form, int i, const ProductDraw& draw) {
  const int bits = form.factor_bits();
  const bool narrow = form.factor[0] == 'f', is_sum = i >= 2 * kWmmaWords;
  if (is_sum && form.sum[1] == '1') return product_word(i, draw, kSums, 5, 10);
  if (is_sum) return product_word(i, draw, kSums, bits == 8 ? 0 : 8, bits == 8 ? 31 : 23);
  return product_word(i, draw, i < kWmmaWords ? kFirst : kSecond,
                      bits == 8 ? 0
                      : narrow  ? 5
                                : 8,
                      bits == 8 ? 7
                      : narrow  ? 10
                                : bits - 9);
}

/// A wgmma: descriptors of canonical layouts (section 0), of any start and strides (1), of panels
/// that begin in the middle of a swizzled block (2).
struct WgmmaRequest {
  ProductDraw draw;
  std::uint64_t a, b;
  bool accumulate;
};
constexpr int kWgmmaRuns = 16;
constexpr int kFirstAddress = 2048;  // below it: what the driver keeps
inline WgmmaRequest wgmma_request(int section, int form, int run, bool a_transposed,
                                  bool b_transposed) {
  const int seed = section * 1000 + form * 20 + run;
  const std::uint64_t swizzle = run % 4;
  const std::uint64_t line = swizzle == 0 ? 16 : 256u >> swizzle;
  std::uint64_t descriptor[2];
  for (int side = 0; side < 2; ++side) {
    const std::uint64_t key = static_cast<std::uint64_t>(seed) * 100 + side * 10;
    std::uint64_t start = kFirstAddress + mix(key) % 4000 * 16;
    std::uint64_t leading = 16 + mix(key + 1) % 250 * 16, stride = 16 + mix(key + 2) % 250 * 16;
    std::uint64_t base = 0;
    if (section == 0) {
      start &= ~1023ull;
      stride = line * 8;
      leading = run < 8 ? 1024 : 2048;
      const bool transposed = side == 0 ? a_transposed : b_transposed;
      if (run >= 4 && swizzle != 0 && !transposed) start += mix(key) % (line / 32) * 32;
    } else if (section == 2) {
      base = 1 + mix(key + 3) % 7;
      start = (start & ~1023ull) + base * 128;
      stride = line * 8;
      leading = 2048;
    }
    descriptor[side] =
        start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62;
  }
  const int kind = run < 5 ? kSmallIntegers : run < 11 ? kWide : run < 12 ? kAnyBits : kSparse;
  return {{kind, seed}, descriptor[0], descriptor[1], run != 2 && run != 7};
}

/// A tensor map: type, rank, bytes behind an aligned address, 5 extents, 5 strides, 5 sides of the
/// box and 5 steps (each of the first dimension first), interleaving, swizzle and fill.
struct MapRequest {
  static constexpr int kExtents = 3, kStrides = 8, kBox = 13, kSteps = 18, kFields = 26;
  std::int64_t fields[kFields] = {7,  2, 0, 64, 32, 4, 3, 2, 256, 8192, 32768, 98304, 0,
                                  32, 8, 1, 1,  1,  1, 1, 1, 1,   1,    0,     0,     0};

  int type() const { return static_cast<int>(fields[0]); }
  cuuint32_t rank() const { return static_cast<cuuint32_t>(fields[1]); }

  /// The result of `function`, which is cuTensorMapEncodeTiled or does what it does.
  template <typename Function, typename Map>
  int encode(const Function& function, Map* map, unsigned char* memory) const {
    cuuint64_t extents[5], strides[5];
    cuuint32_t box[5], steps[5];
    for (int i = 0; i < 5; ++i) {
      extents[i] = static_cast<cuuint64_t>(fields[kExtents + i]);
      strides[i] = static_cast<cuuint64_t>(fields[kStrides + i]);
      box[i] = static_cast<cuuint32_t>(fields[kBox + i]);
      steps[i] = static_cast<cuuint32_t>(fields[kSteps + i]);
    }
    return static_cast<int>(
        function(map, static_cast<CUtensorMapDataType>(type()), rank(), memory + fields[2], extents,
                 strides, box, steps, static_cast<CUtensorMapInterleave>(fields[23]),
                 static_cast<CUtensorMapSwizzle>(fields[24]), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                 static_cast<CUtensorMapFloatOOBfill>(fields[25])));
  }
};

/// A line `map FIELD=VALUE.. FIELD VALUE:RESULT..` of tensor_maps.txt: maps that differ from a
/// MapRequest in some fields, by their numbers, and among each other in one. Calls `take` with each
/// map, its value and its result. Returns what stands ahead of the values.
template <typename Take>
std::string read_maps(const char* line, const Take& take) {
  MapRequest request;
  char* next = const_cast<char*>(line) + std::strlen("map");
  long field = std::strtol(next, &next, 10);
  while (*next == '=') {
    request.fields[field] = std::strtoll(next + 1, &next, 10);
    field = std::strtol(next, &next, 10);
  }
  const std::string ahead(line, static_cast<const char*>(next));
  while (*next == ' ') {
    request.fields[field] = std::strtoll(next, &next, 10);
    const int result = static_cast<int>(std::strtol(next + 1, &next, 10));
    take(request, request.fields[field], result);
  }
  return ahead;
}

/// The first numbers of a line of a copy: all fields of its map.
inline MapRequest read_map(char** next) {
  MapRequest request;
  for (std::int64_t& value : request.fields) value = std::strtoll(*next, next, 10);
  return request;
}

/// What lies in the tensor (`which` 0) and in shared memory (1) before a copy: for reductions of
/// floats numbers of moderate size.
inline void fill_copy(std::uint32_t* words, std::size_t count, int seed, int which, int mode,
                      int type) {
  const bool floats = mode >= 2 && type >= 6 && type != 8;  // not f64
  const int exponent_bits = type == 6 ? 5 : 8;
  const int fraction_bits = type == 6 ? 10 : type == 9 ? 7 : 23;
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = floats ? word(i, seed * 2 + which, kWide, exponent_bits, fraction_bits)
                      : static_cast<std::uint32_t>(mix(i + (which != 0 ? 77 : 0) +
                                                       static_cast<std::uint64_t>(seed) * 100000));
  }
}

/// The result of an operation, with one NaN for all of its type. `name` is PTX's; its last type but
/// that of cvt's source is the result's.
inline std::uint64_t without_payload(const char* name, std::uint64_t bits) {
  char type[16] = "", last[16] = "";
  for (const char* next = name; next != nullptr; next = std::strchr(next, '.')) {
    next += *next == '.' ? 1 : 0;
    const std::size_t length = std::strcspn(next, ".");
    std::strcpy(type, last);
    std::memcpy(last, next, length);
    last[length] = 0;
  }
  if (std::strncmp(name, "cvt", 3) != 0) std::strcpy(type, last);
  const auto is = [&](const char* what) {
    return std::strncmp(type, what, std::strlen(what)) == 0;
  };
  if (is("f64")) return (bits & ~(1ull << 63)) > 0x7FF0ull << 48 ? 0x7FF8ull << 48 : bits;
  if (is("f32") || is("tf32")) return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits;
  if (!is("f16") && !is("bf16")) return bits;
  const std::uint64_t infinity = is("f16") ? 0x7C00 : 0x7F80;
  for (int shift = 0; shift < 32; shift += 16) {
    if ((bits >> shift & 0x7FFF) > infinity)
      bits |= 0x7FFFull << shift, bits &= ~(0x8000ull << shift);
  }
  return bits;
}

/// FNV-1a, of the words of a result.
inline std::uint32_t checksum(const std::uint32_t* words, std::size_t count) {
  std::uint32_t hash = 2166136261u;
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * 16777619u;
  return hash;
}

}  // namespace h200
