#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace assay
