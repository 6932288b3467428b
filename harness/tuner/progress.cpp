#include "tuner/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/terminal.h"
#include "report/table.h"

namespace assay {
namespace {

constexpr auto kRedrawPeriod = std::chrono::milliseconds(100);
constexpr auto kPlainPeriod = std::chrono::seconds(2);

std::string format_duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

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
  total_ = total;
  started_ = Clock::now();
}

void ProgressScreen::count(bool kept, bool failed) {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (kept) ++kept_;
  if (failed) ++failed_;
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
  const bool all = std::all_of(lines_.begin(), lines_.end(), [](const Line& l) { return l.ended; });
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

/// "[12/81] 3.1/s  0:22 left  "
std::string ProgressScreen::counts() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  std::string text = fmt::format("[{}/{}] ", done_, total_);
  const std::size_t fresh = done_ - kept_;
  if (fresh > 0 && seconds > 0.5) {
    const double per_s = static_cast<double>(fresh) / seconds;
    text += fmt::format("{:.1f}/s  {} left  ", per_s,
                        format_duration(static_cast<double>(total_ - done_) / per_s));
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
  screen_->count(kept, failed);
  show(false);
}

void Progress::stage(const std::string& text) {
  stage_ = text;
  show(true);
}

void Progress::show(bool now) {
  std::string text = problem_;
  if (!stage_.empty()) text += "  " + stage_;
  if (best_ns_) {
    text += "  best " + format_time(*best_ns_);
    if (baseline_ns_) {
      text += fmt::format(" ({:.0f} % of the baseline's speed)", 100 * *baseline_ns_ / *best_ns_);
    }
  }
  screen_->show(line_, std::move(text), now);
}

}  // namespace assay
