#pragma once

#include <string>
#include <string_view>

#include "base/device_info.h"
#include "base/rank.h"

namespace assay {

// Whether a record that a file holds agrees with itself. Every reader of recordings and databases
// asks these functions. What they return is what is wrong, as "'rounds' is 30, but there are
// samples of 20", or nothing.
//
// Names are checked, too: an export writes them into programs, and a page shows them.

/// What `rank` says that its own samples contradict. Everything that rank_entries computes is
/// computed again. What lies within the digits that a recording keeps agrees.
///
/// What breaks a tie is not in the verdict, so any configuration may be the winner that is as near
/// to the fastest as a winner must be.
std::string contradiction(const RankRecord& rank);

/// Fills in what follows from the samples of `rank`: medians, ratios, ties and the noise, with the
/// digits that a recording's samples give. Returns what then contradicts them.
std::string derive(RankRecord& rank);

/// Fills in what follows from the samples of a time, which must be there: the median with its
/// interval, which of few samples is their range, and the clock if those of the samples are there.
void derive(Timing& timing);

/// The median of a time and the interval of that.
std::string contradiction(const Timing& timing);

/// All that is in a trial but its kernel, toolchain and protocol, which many trials share.
std::string contradiction(const TrialRecord& trial);
std::string contradiction(const BaselineRecord& baseline);
std::string contradiction(const Verification& verification);
std::string contradiction(const Measurement& measurement);

/// Whether what a metric of an entry was computed with is what the compiler reported of its trial.
std::string contradiction(const RankEntry& entry, const CompileReport& compile);

/// A name or a time of a verdict that is none.
std::string wrong_names(const RankRecord& rank);
std::string contradiction(const KernelVersion& kernel);
std::string contradiction(const Toolchain& toolchain);
std::string contradiction(const Protocol& protocol);
std::string contradiction(const DeviceInfo& device);

/// "2026-11-21T10:00:00Z". The newest of two times is found by comparing their texts.
bool is_timestamp(std::string_view text);

/// Whether a text has no control characters and is UTF-8.
bool is_one_line(std::string_view text);

}  // namespace assay
