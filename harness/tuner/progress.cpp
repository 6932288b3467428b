#include "tuner/progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/find_named.h"
#include "base/terminal.h"
#include "report/table.h"

namespace assay {
namespace {

constexpr auto kRedrawPeriod = std::chrono::milliseconds(100);
constexpr auto kPlainPeriod = std::chrono::seconds(2);
constexpr double kLeastElapsedS = 0.5;  // before that the pace is not known

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::optional<double> SweepPace::left_s(double elapsed_s) const {
  const std::size_t run = settled - reused;
  const std::size_t done = run > 0 ? run : ahead;
  if (done == 0) return std::nullopt;
  const std::size_t left = total - std::min(total, reused + done);
  return elapsed_s * static_cast<double>(left) / static_cast<double>(done);
}

ProgressScreen::Mode ProgressScreen::detect() {
  return isatty(STDERR_FILENO) != 0 ? Mode::terminal : Mode::plain;
}

std::size_t ProgressScreen::add_line(std::string label) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({std::move(label)});
  return lines_.size() - 1;
}

void ProgressScreen::begin(std::size_t total) {
  const std::lock_guard lock(mutex_);
  pace_.total = total;
  started_ = Clock::now();
}

void ProgressScreen::set_ahead(std::size_t line, std::size_t ahead) {
  const std::lock_guard lock(mutex_);
  if (lines_[line].ahead == ahead) return;
  pace_.ahead += ahead - lines_[line].ahead;
  lines_[line].ahead = ahead;
  estimate();
}

void ProgressScreen::count(std::size_t line, bool kept, bool failed) {
  const std::lock_guard lock(mutex_);
  if (!kept && lines_[line].ahead > 0) {
    --lines_[line].ahead;
    --pace_.ahead;
  }
  ++pace_.settled;
  if (kept) ++pace_.reused;
  if (failed) ++failed_;
  estimate();
}

void ProgressScreen::estimate() {
  const auto now = Clock::now();
  const double elapsed_s = std::chrono::duration<double>(now - started_).count();
  if (const auto left_s = pace_.left_s(elapsed_s); left_s && elapsed_s > kLeastElapsedS) {
    ends_ =
        now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*left_s));
  }
}

void ProgressScreen::show(std::size_t line, std::string text, bool now) {
  if (mode_ == Mode::silent) return;
  const std::lock_guard lock(mutex_);
  Line& shown = lines_[line];
  shown.text = std::move(text);
  const auto time = Clock::now();
  if (mode_ == Mode::plain) {
    if (time - shown.drawn < kPlainPeriod) return;
    shown.drawn = time;
    print_err("{}{}{}\n", counts(), shown.label, shown.text);
    return;
  }
  if (!now && time - shown.drawn < kRedrawPeriod) return;
  shown.drawn = time;
  redraw();
}

void ProgressScreen::end(std::size_t line) {
  const std::lock_guard lock(mutex_);
  Line& ended = lines_[line];
  if (ended.ended) return;
  ended.ended = true;
  ended.text = "done";
  const bool all = std::ranges::all_of(lines_, [](const Line& l) { return l.ended; });
  if (all) {
    clear();
  } else if (mode_ == Mode::terminal) {
    redraw();
  }
}

void ProgressScreen::finish() {
  const std::lock_guard lock(mutex_);
  clear();
}

/// "[12/81] 15 compiled  0:22 left  "
std::string ProgressScreen::counts() const {
  if (pace_.total == 0) return "";  // not known yet
  std::string text = fmt::format("[{}/{}] ", pace_.settled, pace_.total);
  if (pace_.ahead > 0) text += fmt::format("{} compiled  ", pace_.settled + pace_.ahead);
  if (ends_) {
    const double left_s = std::chrono::duration<double>(*ends_ - Clock::now()).count();
    text += fmt::format("{} left  ", format_duration(std::max(left_s, 0.0)));
  }
  if (failed_ > 0) text += fmt::format("{} failed  ", failed_);
  return text;
}

/// Leaves the cursor behind the last line.
void ProgressScreen::redraw() {
  // A line longer than the terminal would wrap, and only its last row would be rewritten.
  const std::size_t columns = terminal_columns(STDERR_FILENO) - 1;
  std::vector<std::string> rows;
  if (lines_.size() == 1) {
    rows.push_back(counts() + lines_[0].label + lines_[0].text);
  } else {
    rows.push_back(counts());
    for (const Line& line : lines_) rows.push_back(line.label + line.text);
  }
  clear();
  std::string text;
  for (const std::string& row : rows) {
    text += (text.empty() ? "" : "\n") + printable_line(row.substr(0, columns));
  }
  std::fputs(text.c_str(), stderr);
  num_shown_ = rows.size();
}

void ProgressScreen::clear() {
  for (; num_shown_ > 0; --num_shown_) {
    std::fputs(num_shown_ > 1 ? "\r\033[K\033[A" : "\r\033[K", stderr);
  }
}

Progress::Progress(std::shared_ptr<ProgressScreen> screen, std::string label)
    : screen_(std::move(screen)), line_(screen_->add_line(std::move(label))) {}

void Progress::start_problem(const std::string& kernel_or_op, const std::string& problem,
                             std::optional<double> baseline_ns) {
  problem_ = kernel_or_op + " " + problem;
  stage_.clear();
  baseline_ns_ = baseline_ns;
  best_ns_.reset();
  show(true);
}

void Progress::count(bool kept, bool failed, std::optional<double> time_ns) {
  stage_.clear();
  if (time_ns && (!best_ns_ || *time_ns < *best_ns_)) best_ns_ = time_ns;
  screen_->count(line_, kept, failed);
  show(false);
}

void Progress::stage(const std::string& text) {
  stage_ = text;
  show(true);
}

void Progress::show(bool now) {
  std::string text = problem_;
  if (!stage_.empty()) text += (text.empty() ? "" : "  ") + stage_;
  if (best_ns_) {
    text += "  best " + format_time(*best_ns_);
    if (baseline_ns_) {
      text += fmt::format(" ({:.0f} % of the baseline's speed)", 100 * *baseline_ns_ / *best_ns_);
    }
  }
  screen_->show(line_, std::move(text), now);
}

void RacingReport::add(const Timing& timing) {
  const std::size_t samples = timing.samples_ns.size();
  if (!timing.censored()) {
    ++finished;
    finished_samples += samples;
    return;
  }
  ++raced;
  raced_samples += samples;
  raced_medians_s += timing.median_ns * 1e-9;
  raced_sampled_s += timing.median_ns * 1e-9 * static_cast<double>(samples);
}

double RacingReport::saved_s() const {
  if (finished == 0) return 0;
  const double samples = static_cast<double>(finished_samples) / static_cast<double>(finished);
  return std::max(0.0, samples * raced_medians_s - raced_sampled_s);
}

void SweepReport::count(const TrialRecord& record) {
  const Outcome& outcome = record.outcome;
  const std::pair<Status, std::string> what{outcome.status, outcome.kind};
  ++counts[what];
  if (!is_failure(outcome.status)) return;
  const std::string reason = outcome.message.substr(0, outcome.message.find('\n'));
  examples.emplace(what, reason + ", of " + to_text(record.config));
}

void SweepReport::refuse(const TrialRecord& record) {
  const auto correct = counts.find({Status::correct, ""});
  if (correct != counts.end() && --correct->second == 0) counts.erase(correct);
  count(record);
}

void SweepReport::add(const TrialRecord& record, bool is_kept) {
  count(record);
  const Outcome& outcome = record.outcome;
  ++(is_kept ? kept : measured);
  if (is_kept) return;
  if (!outcome.same_as.empty()) {
    ++same_code;
  } else if (outcome.status == Status::correct && outcome.timing) {
    racing.add(*outcome.timing);
  }
}

void SweepReport::warn(const std::string& warning) { add_once(warnings, warning); }

}  // namespace assay
