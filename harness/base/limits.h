#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// How much of a file somebody else wrote is taken in before it is refused with a sentence. Each is
// far above what is real and far below what a machine cannot bear. Kernels and sweeps are bounded
// by their size, too: spec/source_text.cpp.

/// A file read whole: a source, a header, a cubin. The largest real ones have a few megabytes.
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

/// A recording or another tuner's file, unpacked. The largest recorded sweep has 3.2 MB.
inline constexpr std::size_t kMaxRecordingBytes = std::size_t{256} << 20;

/// JSON text that is parsed at once: a line of a recording, a row of another tuner's file, or all
/// of that file but its rows. The largest real ones have a few megabytes. Two bytes are a value,
/// and a value takes up to 40 bytes of memory while it is read.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
/// Its levels. Trials nest four levels deep; nlohmann-json copies and prints by recursion, which
/// 80,000 levels crashed.
inline constexpr int kMaxJsonDepth = 64;
/// Values in one message in CBOR, whose values take one byte or more.
inline constexpr std::size_t kMaxCborValues = std::size_t{1} << 25;
/// Rows of another tuner's file, each of which is a run of one configuration; 40 bytes are kept of
/// each while the file is read, and the text of each configuration.
inline constexpr std::size_t kMaxTunerRows = std::size_t{1} << 22;

/// A YAML file with each alias written out: aliases of aliases grow without bound.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{4} << 20;

/// Dimensions and parameters of a kernel; each is looked up among the others.
inline constexpr std::size_t kMaxDims = 64;
inline constexpr std::size_t kMaxParams = 1024;
/// Each constraint keeps a list of the lets that it reads.
inline constexpr std::size_t kMaxLets = 4096;
inline constexpr std::size_t kMaxConstraints = 4096;

/// Headers that one source includes, directly or not.
inline constexpr std::size_t kMaxHeaders = 4096;
/// A source with these headers. They are sent to the compiler's process in one message.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{32} << 20;
/// Machine code of one configuration. It is sent back in one message.
inline constexpr std::size_t kMaxCubinBytes = std::size_t{32} << 20;

/// What all compiles together may take of the machine's memory. Each has an equal share, but no
/// less than kMinCompileBytes: a kernel that includes all of CUB takes 214 MB.
inline constexpr double kCompileMemoryRatio = 0.75;
inline constexpr std::uint64_t kMinCompileBytes = std::uint64_t{1} << 30;

/// Partial configurations that are looked at while a space is enumerated, at 20 to 100 ns each.
inline constexpr std::uint64_t kMaxSpaceSteps = 1'000'000'000;
/// Configurations of one kernel that satisfy all constraints. A sweep holds them in memory, at
/// about 100 bytes each.
inline constexpr std::uint64_t kMaxConfigs = 10'000'000;

/// Basic blocks of one function that is inspected. To find its loops takes time and memory that
/// grow with the square; the largest shipped kernel has about a thousand.
inline constexpr std::size_t kMaxBlocks = 10'000;

}  // namespace assay
