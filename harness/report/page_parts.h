#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/rank.h"
#include "report/page_data.h"
#include "store/store.h"

namespace assay {

/// Texts that are written once and referred to by their place.
class Words {
 public:
  int place_of(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, int> places_;
};

/// The trials of one question as columns, one place for each trial, in the order given: status,
/// time, registers, the seconds since the first, and for each parameter the place of its value
/// among its values. Texts that many share (kernels, kinds of failure, messages) are written once.
class PageTrials {
 public:
  void add(const TrialRow& row);
  std::size_t size() const { return times_ns_.size(); }
  /// JSON in ASCII.
  std::string json() const;

 private:
  struct Param {
    std::string name;
    std::map<Value, int> places;  // of each value among those that were met
    std::vector<int> at;          // of each trial; -1 where its kernel has no such parameter
  };

  Param& param(const std::string& name);

  Words kernels_, statuses_, kinds_, messages_;
  std::vector<int> kernel_, status_, kind_, message_, registers_, spills_;
  std::vector<std::int64_t> seconds_, id_steps_;
  std::vector<double> times_ns_;  // NaN where there is none
  std::vector<Param> params_;     // in the order of the kernels
  std::string started_at_;
  std::int64_t started_ = 0;  // in seconds
  std::int64_t last_id_ = 0;
};

/// A code whose instructions why_json() shows: that of a trial or, with a name, of that baseline of
/// its kernel.
struct ShownCode {
  const char* role;  // "winner", "runner-up" or "baseline"
  const TrialRow* row;
  std::string baseline;
};
std::vector<ShownCode> shown_codes(const RankRecord& rank,
                                   const std::vector<const TrialRow*>& trials);

/// What the winner's time is made of, and why it is faster than the runner-up and the baseline, as
/// `explain` says it, with the least time for its bytes and for its operations at the GPU's rates,
/// as far as they are known, and with the instructions of each if there is a `code_of`. Null where
/// the winner's trial is not there.
nlohmann::ordered_json why_json(const RankRecord& rank, const std::vector<const TrialRow*>& trials,
                                const FiguresOf& figures_of, const CodeOf& code_of);

}  // namespace assay
