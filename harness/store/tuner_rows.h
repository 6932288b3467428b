#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/json_text.h"
#include "store/store.h"

/// The rows of other tuners' files. Each is one run of one configuration. All functions throw
/// Damage where a row cannot be read; the other rows are not worse for it.
namespace assay::tuner_rows {

using namespace json_text;  // both readers of JSON speak in its words

/// What is wrong with the whole file, though a row shows it: a unit that is missing, for example.
struct Unreadable : FormattedError {
  using FormattedError::FormattedError;
};

enum class Format {
  cachefile,  // of Kernel Tuner: "cache" and "tune_params_keys"
  t4,         // "results"
  ktt,        // "Results", with a list of names and values as the configuration
  bat         // a list of results, or a table of them (.csv); all times are seconds
};

/// Parameters are identifiers here, and their values integers or identifiers. What others write is
/// made one: "row-major" is row_major.
class RowWords {
 public:
  /// Throws Damage where two names or words would become one.
  std::string identifier(std::string_view foreign);
  /// 16 of "16", 1 of Python's True, a word of any other text.
  Value value(std::string_view name, const Json& value);
  /// "'row-major' is read as row_major" of each that was changed.
  std::vector<std::string> changes() const;

 private:
  std::map<std::string, std::string, std::less<>> foreign_;  // by the word that it became
};

/// What holds for all rows of a file.
struct TunerRowReader {
  Format format = Format::t4;
  std::vector<std::string> parameters = {};  // of a cachefile, in this order
  std::string unit = {};                     // of T4 and KTT, where the file names one
  RowWords words = {};

  /// Fills in `trial.config`.
  void read_config(const Json& row, TrialRecord& trial);
  /// Fills in the rest. Throws Unreadable, too.
  void read_outcome(const Json& row, TrialRecord& trial) const;
};

/// Several runs of one configuration, in the file's order, as one trial. A failed check stands
/// whatever else came. Otherwise the last outcome counts, and where that is a time, the samples of
/// all runs are its samples.
TrialRecord combined(std::vector<TrialRecord> runs);

/// A table (.csv) of BAT as the list of results that BAT writes as JSON. Throws Damage.
std::string json_of_table(std::string_view text);

}  // namespace assay::tuner_rows
