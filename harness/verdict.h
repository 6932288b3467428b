#pragma once

#include <string>
#include <vector>

#include "base/recording.h"
#include "device/device.h"
#include "spec/kernel_spec.h"
#include "store/store.h"

namespace assay {

/// One correct configuration of the op at hand, as its screening timed it.
struct Measured {
  const KernelSpec* kernel = nullptr;
  Config config;
  double median_ns = 0;
  bool censored = false;
  CompileReport compile;
};

/// Whether the store has a verdict with a winner for the op, problem and protocol of `asked`, of
/// this device and provenance.
bool is_ranked(const Store& store, const RankRecord& asked, const DeviceInfo& device,
               const std::string& provenance);

/// Leaves the `top` fastest, fastest first. What was raced out takes part only where the winner
/// would otherwise run alone.
void keep_best(std::vector<Measured>& correct, int top);

/// `asked` with the entries and the noise floor that the re-rank of `best` gives; no entries when
/// nothing was timed. `requests` are those of `best`, in its order.
RankRecord verdict_of(RankRecord asked, const RerankResult& result,
                      const std::vector<Measured>& best, const std::vector<TrialRequest>& requests);

}  // namespace assay
