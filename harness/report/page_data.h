#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/requests.h"
#include "report/explain.h"
#include "report/history.h"
#include "report/inspect_view.h"
#include "report/run_comparison.h"
#include "report/tuned_table.h"

namespace assay {

/// What one launch has to do, as its contract says; 0 where that says nothing.
struct Work {
  std::string contract;  // the kernel as a sweep names it, such as "examples/rms_norm"
  double flops = 0;
  double bytes = 0;  // that must be read or written at least
};

/// What the kernel of a table's row is by now.
struct KernelNow {
  std::optional<Work> work;  // nothing where the kernel is not there, or has another contract
  std::string stale;         // how the kernel has changed since; empty: not, or that is not known
};
using KernelNowOf = std::function<KernelNow(const DeviceInfo&, const TunedRow&)>;

/// What a GPU reaches at most, if that was measured.
using CeilingsOf = std::function<std::optional<Ceilings>(const DeviceInfo&)>;

/// What is known of a trial that was timed; see report/explain.h.
using FiguresOf = std::function<Figures(const TrialRow&)>;

/// The instructions of a trial's configuration or, with a name, of that baseline of its kernel.
using CodeOf = std::function<CodeCounts(const TrialRow&, const std::string& baseline)>;
/// Told ahead what a CodeOf will be asked for, so that it can compile on all cores.
using CodeAhead = std::function<void(const TrialRow&, const std::string& baseline)>;

/// What the page draws, as one JSON document. Trials are columns, with each value of a parameter,
/// each message and each kind of failure written once: 50,000 of them have to fit on a page.
class PageData {
 public:
  /// Without `code_of`, the page says nothing of instructions.
  PageData(KernelNowOf kernel_now_of, CeilingsOf ceilings_of, FiguresOf figures_of, CodeOf code_of,
           CodeAhead code_ahead);
  ~PageData();

  /// Takes a trial of what is added next. Whether add() needs the trial itself, too, as
  /// Store::results asks.
  bool take(const TrialRow& trial, const Results& results);
  /// Adds what a database or a recording holds, whose trials were all taken. Of a question that
  /// several hold, the re-ranked result is kept, and of several the newest. `since` is what became
  /// of its results since another run; null if that is not asked for.
  void add(const std::string& source, const Results& results, const RunComparison* since = nullptr);

  bool empty() const { return questions_.empty(); }
  std::size_t num_trials() const;

  /// {"questions": [...], "trials": [...], "devices": [...], "history": [...], ...}
  std::string json(const std::vector<ResultHistory>& histories) const;

 private:
  struct Answered;
  struct Taken;
  using Key = std::pair<QuestionOrder, Objective>;  // also the order on the page

  KernelNowOf kernel_now_of_;
  CeilingsOf ceilings_of_;
  FiguresOf figures_of_;
  CodeOf code_of_;
  CodeAhead code_ahead_;
  std::vector<std::string> sources_;
  std::vector<std::string> comparisons_;  // a sentence for each source that was compared
  std::map<Key, Answered> questions_;
  std::map<std::string, Taken> taken_;  // by question, since the last add()
  Taken* taking_ = nullptr;             // the last trial's: a question's trials come together
  TunedTrials tuned_;
};

/// The page as it is built, with a place for its data; empty if this program was built without it.
extern const std::string_view kPageTemplate;

/// One HTML file that shows `data`, a JSON document, and needs nothing else: no network and no
/// other file. Throws Error if this program was built without the page.
std::string page_html(std::string_view data);

}  // namespace assay
