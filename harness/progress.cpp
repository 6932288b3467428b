#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
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

std::size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

Progress::Progress(Mode mode, std::string provenance)
    : mode_(mode), provenance_(std::move(provenance)) {}

Progress::~Progress() { finish(); }

Progress::Mode Progress::detect() {
  return isatty(STDERR_FILENO) != 0 ? Mode::terminal : Mode::plain;
}

void Progress::begin(std::size_t total) {
  total_ = total;
  started_ = Clock::now();
}

void Progress::start_problem(const std::string& kernel_or_op, const std::string& problem,
                             std::optional<double> baseline_ns) {
  problem_ = kernel_or_op + " " + problem;
  stage_.clear();
  baseline_ns_ = baseline_ns;
  best_ns_.reset();
  draw(mode_ == Mode::terminal);
}

void Progress::count(bool kept, bool correct, std::optional<double> time_ns) {
  stage_.clear();
  ++done_;
  if (kept) ++kept_;
  if (!correct) ++failed_;
  if (time_ns && (!best_ns_ || *time_ns < *best_ns_)) best_ns_ = time_ns;
  draw(false);
}

void Progress::stage(const std::string& text) {
  stage_ = text;
  draw(mode_ == Mode::terminal);
}

void Progress::note(const std::string& text) {
  if (mode_ == Mode::silent) return;
  finish();
  print_err("{}\n", text);
}

void Progress::finish() {
  if (!line_shown_) return;
  std::fputs("\r\033[K", stderr);
  line_shown_ = false;
}

std::string Progress::line() const {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  std::string text = fmt::format("[{}/{}] ", done_, total_);
  const std::size_t fresh = done_ - kept_;
  if (fresh > 0 && seconds > 0.5) {
    const double per_s = static_cast<double>(fresh) / seconds;
    text += fmt::format("{:.1f}/s  {} left  ", per_s,
                        format_duration(static_cast<double>(total_ - done_) / per_s));
  }
  if (failed_ > 0) text += fmt::format("{} failed  ", failed_);
  text += problem_;
  if (!stage_.empty()) text += "  " + stage_;
  if (best_ns_) {
    text += "  best " + format_time(*best_ns_);
    if (baseline_ns_) {
      text += fmt::format(" ({:.0f} % of the baseline's speed)", 100 * *baseline_ns_ / *best_ns_);
    }
    if (!provenance_.empty()) text += " " + provenance_;
  }
  return text;
}

void Progress::draw(bool now) {
  if (mode_ == Mode::silent) return;
  const auto time = Clock::now();
  if (mode_ == Mode::plain) {
    if (!now && time - drawn_ < kPlainPeriod) return;
    drawn_ = time;
    print_err("{}\n", line());
    return;
  }
  if (!now && time - drawn_ < kRedrawPeriod) return;
  drawn_ = time;
  // A line longer than the terminal would wrap, and only its last row would be rewritten.
  const std::string text = printable_line(line().substr(0, terminal_columns() - 1));
  std::fputs(("\r\033[K" + text).c_str(), stderr);
  line_shown_ = true;
}

}  // namespace assay
