#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "base/dtype.h"
#include "cuda/handles.h"
#include "spec/vocabulary.h"

namespace assay {

/// How far an element may be from its reference. The size of a sum's terms is the root of the sum
/// of their squares.
struct ElementBound {
  double of_value = 0;  // in ratio to the reference
  double of_terms = 0;  // in ratio to the size of the terms
  double size = 0;      // of the terms of an element whose own are not known
  double floor = 0;

  /// Of an element's terms; `squared_terms` is 0 where they are not known. support.cu mirrors both.
  double size_of(double squared_terms) const {
    constexpr double kLeastSquares = 0x1p-100;  // fp32 can hold no smaller squares well
    return squared_terms >= kLeastSquares ? std::sqrt(squared_terms) : size;
  }
  double at(double reference, double squared_terms = 0) const {
    return of_value * std::abs(reference) + of_terms * size_of(squared_terms) + floor;
  }
};

/// What one pass over an output found. Mirrors the struct in support.cu. The not_first_ fields hold
/// ~index of the first such element, and mean nothing when their count is 0.
struct Comparison {
  std::uint64_t compared = 0;
  std::uint64_t unwritten = 0;
  std::uint64_t not_first_unwritten = 0;
  std::uint64_t bad = 0;
  std::uint64_t not_first_bad = 0;
  double squared_error = 0;
  double squared_reference = 0;
  // The squares of each error and of its reference, and their product, in ratio to the squared size
  // of the element's terms.
  double scaled_error = 0;
  double scaled_reference = 0;
  double scaled_product = 0;
  double worst_ratio = 0;
};

/// One SM's clock and time at one moment. Mirrors the struct in support.cu.
struct Stamp {
  std::uint64_t time_ns = 0;
  std::uint64_t cycles = 0;
};

/// Memory beside a buffer that no kernel may write. It ends at a multiple of 16 bytes. Mirrors the
/// struct in support.cu.
struct GuardZone {
  CUdeviceptr begin = 0;
  CUdeviceptr end = 0;
};

/// An operand of an operation as its output sees it: element (row, column) of the output needs the
/// element at first + row * row_step + column * column_step. Without data it is left out. Mirrors
/// the struct in support.cu.
struct Strided {
  CUdeviceptr data = 0;
  std::int64_t first = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;
  DType dtype = DType::f32;
};

/// How many rows and columns an operation works on; all dimensions but the last are rows.
struct Rows {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

/// A stack of matrices in blocks that have a scale each. Mirrors the struct in support.cu.
struct Blocks {
  std::int64_t batch = 1, rows = 0, columns = 0;
  std::int64_t block_rows = 1, block_columns = 1;
  std::int64_t down = 1, across = 1;  // blocks of a matrix
};

/// How the scale of a block follows from its largest element.
struct ScaleRule {
  double limit = 448;  // what the largest element becomes
  bool powers_of_two = false;
};

/// Where the scales stand: beside each other those of a row of blocks, or of a column. `width` is
/// the length of a row of them.
struct ScalePlaces {
  bool transpose = false;
  std::int64_t width = 1;
};

/// What is made of one element of each of two operands; support.cu mirrors the order.
enum class Pointwise : int { copy, add, multiply, relu, silu, gelu, gelu_tanh, gate };

/// What is made of a row; support.cu mirrors the order.
enum class Rowwise : int { sum, softmax, layer_norm, rms_norm };

/// What random numbers can be made into, so that a kernel meets data on which a shortcut is wrong.
/// support.cu mirrors the order.
enum class DataKind : int {
  as_drawn,
  shifted,      // by a quarter of the standard deviation, so that their mean is not zero
  scaled_rows,  // each by a power of two from 2^-8 to 1
  sparse,       // half of the runs of 32 are zero
  constant,     // the mean, and about a quarter of the standard deviation
  large,        // 64 times as large
  planted,      // with a few values in each row that are as large as the root of its length
};

/// What follows "its inputs were": "zero in half of all runs of 32".
const char* describe(DataKind kind);

/// The poison word, which fills outputs, scratch and guard zones before a checked launch. It is a
/// NaN as f32, and each half of it is a NaN as bf16 and as f16.
constexpr std::uint32_t kPoisonWord = 0x7FA57FA5;

/// The kernels of support.cu on a stream. Each function enqueues one kernel, or says that the
/// function waits. Pointers are to device memory, and results go to device memory. All functions
/// throw CudaError.
class SupportKernels {
 public:
  SupportKernels(const Driver& driver, CUstream stream, const std::string& cubin, int sm_count);

  const Driver& driver() const { return *driver_; }
  CUstream stream() const { return stream_; }
  /// Waits for the stream.
  void synchronise() const { driver_->cuStreamSynchronize(stream_); }
  /// Copies to the device and waits.
  void upload(CUdeviceptr to, const void* from, std::size_t bytes) const;
  /// Copies from the device and waits.
  void download(void* to, CUdeviceptr from, std::size_t bytes) const;
  /// The hash of `bytes` at `data` (8-byte aligned). Waits.
  std::uint64_t hash_of(CUdeviceptr data, std::size_t bytes) const;

  /// `first` to `fourth` are the generator's own numbers: see FillRecipe. With `places`, tokens of
  /// `routing` change places as this key says; 0: they do not.
  void fill(Generator generator, DType dtype, CUdeviceptr out, std::int64_t elements,
            std::uint64_t key, double first, double second, double third = 0, double fourth = 0,
            std::uint64_t places = 0) const;
  /// Makes data of `kind` of random numbers with this mean and this standard deviation, in place. A
  /// row has `columns` elements.
  void vary(DataKind kind, DType dtype, CUdeviceptr data, std::int64_t elements,
            std::int64_t columns, std::uint64_t key, double mean, double std) const;
  /// Adds the hash of `bytes` at `data` (8-byte aligned) to the 64-bit word at `sum`.
  void hash(CUdeviceptr data, std::size_t bytes, CUdeviceptr sum) const;
  /// Poison `num_zones` GuardZones, or check them: see GuardZones. Each first of two is ahead of
  /// its buffer.
  void poison_zones(CUdeviceptr zones, std::int64_t num_zones) const;
  void guard_zones(CUdeviceptr zones, std::int64_t num_zones, CUdeviceptr found) const;
  /// Compares with `!(|out - ref| <= bound.at(ref, terms))`; `result` is a zeroed Comparison. Equal
  /// infinities are equal. `terms` has the squared sizes of the elements' terms in f32, or is 0.
  /// Integers must be equal, and their reference has their dtype.
  void compare(DType dtype, CUdeviceptr out, DType reference_dtype, CUdeviceptr reference,
               CUdeviceptr terms, std::int64_t elements, const ElementBound& bound,
               CUdeviceptr result) const;
  /// Adds the sum to the double at `sum`, or to the 64-bit word where the elements are integers.
  void sum(DType dtype, CUdeviceptr data, std::int64_t elements, CUdeviceptr sum) const;
  /// Sorts the elements into `sorted`, which has room for 8 bytes for each of sort_places(). They
  /// become f64, i64 or u64.
  void sort(DType dtype, CUdeviceptr data, std::int64_t elements, CUdeviceptr sorted) const;
  static std::int64_t sort_places(std::int64_t elements);
  /// Copies `bytes`. The driver's copies slow down what follows, as its memsets do: see poison().
  void copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) const;
  /// Adds the sum of squares of all that are no infinity to the double at `sum`.
  void sum_squares(DType dtype, CUdeviceptr data, std::int64_t elements, CUdeviceptr sum) const;
  /// out[j] = double(data[first + j * step]).
  void gather(DType dtype, CUdeviceptr data, std::int64_t first, std::int64_t step,
              std::int64_t count, CUdeviceptr out) const;
  /// out[row, column] = function(a, b), in fp64 as everything below. Here and below, `terms` gets
  /// the squared size of the terms of each element of `out`, in f32, unless it is 0. Those of an
  /// operand that is a sum itself are in `x_terms`; an element of others is one term. `slope` is
  /// that of relu below 0.
  void pointwise(Pointwise function, const Strided& a, const Strided& b, DType dtype,
                 CUdeviceptr out, const Rows& size, const Strided& a_terms = {},
                 const Strided& b_terms = {}, CUdeviceptr terms = 0, double slope = 0) const;
  /// The size of the largest element of each block, in f32, row by row.
  void largest(DType dtype, CUdeviceptr data, const Blocks& blocks, CUdeviceptr out) const;
  /// The elements over the scales of their blocks, which follow from what `largest` made. Terms as
  /// in `pointwise`.
  void quantise(DType from, CUdeviceptr data, const Blocks& blocks, CUdeviceptr largest,
                const ScaleRule& rule, DType to, CUdeviceptr out, CUdeviceptr x_terms = 0,
                CUdeviceptr terms = 0) const;
  /// Those scales, and zeros where rows of them are longer.
  void scales(const Blocks& blocks, CUdeviceptr largest, const ScaleRule& rule,
              const ScalePlaces& places, DType to, CUdeviceptr out) const;
  /// The elements times the scales of their blocks, in f32.
  void dequantise(DType from, CUdeviceptr data, const Blocks& blocks, DType scales_dtype,
                  CUdeviceptr scales, const ScalePlaces& places, CUdeviceptr out) const;
  /// out[i] = data[i]^2, in bf16 or f32.
  void square(DType from, CUdeviceptr data, std::int64_t elements, DType to, CUdeviceptr out) const;
  /// A row of `out` from each row of `x`. Weight and bias are of the columns. Of a norm, `terms`
  /// gets those of an element's two parts.
  void rowwise(Rowwise function, const Strided& x, const Strided& weight, const Strided& bias,
               double epsilon, DType dtype, CUdeviceptr out, const Rows& size,
               const Strided& x_terms = {}, CUdeviceptr terms = 0) const;
  /// out[row] = sum of weight[row, t] * x[index[row, t]] over t < top; without an index the rows of
  /// x follow each other. NaN where x has no such row.
  void gather_rows(const Strided& x, std::int64_t x_rows, const Strided& index,
                   const Strided& weight, std::int64_t top, DType dtype, CUdeviceptr out,
                   const Rows& size, const Strided& x_terms = {}, CUdeviceptr terms = 0) const;
  /// out[row] = sum of x[i] over the i whose index is `row`.
  void scatter_rows(const Strided& x, std::int64_t x_rows, const Strided& index, DType dtype,
                    CUdeviceptr out, const Rows& size, const Strided& x_terms = {},
                    CUdeviceptr terms = 0) const;
  /// Makes random bits of what is there, or, with the same key, takes that back.
  void veil(CUdeviceptr data, std::size_t bytes, std::uint64_t key) const;
  /// Fills `bytes` (a multiple of 4) at `begin` (a multiple of 16) with the poison word. A memset
  /// of the driver slows down the work behind it, by 1 us of 18.6 for a split-K product on an H200,
  /// whatever else runs between the two. This kernel does not.
  void poison(CUdeviceptr begin, std::size_t bytes) const;
  /// Fills the shared memory of all SMs with the poison word, so that nothing of an earlier launch
  /// is left there.
  void fill_shared() const;
  /// What `occupy` and who waits for it tell each other; zeros at first.
  struct Crowd {
    std::uint32_t arrived = 0;  // blocks that have an SM each
    std::uint32_t over = 0;     // set to another value, it ends them
  };
  /// Keeps `sms` SMs busy on `stream` until the Crowd at `crowd` is over, but for `time_ns` at
  /// most. Other launches then have the rest, where other blocks than usual run beside each other.
  void occupy(CUstream stream, int sms, std::uint64_t time_ns, CUdeviceptr crowd) const;
  /// Does the same to the one SM that `occupy` has left, but for `free_threads` of its threads, of
  /// which it may leave up to 64 more. Returns its number of blocks, which is what is added to
  /// `arrived`.
  int narrow(CUstream stream, int free_threads, std::uint64_t time_ns, CUdeviceptr crowd) const;
  /// Reads all of it (a multiple of 16 bytes) and writes nothing.
  void read(CUdeviceptr data, std::size_t bytes) const;
  /// Keeps the stream busy until the word at `published` reaches `ticket`, but for a second at
  /// most. Then it sets the word at `timed_out` to 1.
  void hold(CUdeviceptr published, std::uint32_t ticket, CUdeviceptr timed_out) const;
  /// Writes a Stamp of the first SM.
  void stamp(CUdeviceptr stamp) const;
  void empty() const;

 private:
  /// Of one launch.
  struct Shape {
    std::int64_t blocks = 1, threads = 1;
    CUstream stream = nullptr;
    unsigned shared_bytes = 0;
    const char* call = "launch of a support kernel";  // for the message of an error
  };
  template <typename... Args>
  void launch_blocks(const char* name, const Shape& shape, Args... args) const;
  template <typename... Args>
  void launch(const char* name, std::int64_t threads, Args... args) const;
  CUfunction function(const char* name) const;

  const Driver* driver_;
  CUstream stream_;
  int sm_count_;
  unsigned shared_bytes_ = 0;  // that a block can have
  int sm_threads_ = 0;         // that an SM can have
  Module module_;
  DeviceMemory sink_;
  std::map<std::string, CUfunction> functions_;  // by name, without assay_
};

}  // namespace assay
