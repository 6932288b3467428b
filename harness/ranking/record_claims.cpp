// What a trial, a baseline and the names of a file say of themselves. claims.cpp is about verdicts.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "ranking/claims.h"

namespace assay {
namespace {

// A recording keeps six digits of an error.
constexpr double kErrorDigit = 1e-5;

std::string wrong_name(const char* key, std::string_view text) {
  if (is_identifier(text)) return "";
  return fmt::format("'{}' is '{}'; expected a name of letters, digits and underscores", key,
                     printable_line(text));
}

std::string wrong_line(const char* key, std::string_view text) {
  if (is_one_line(text)) return "";
  return fmt::format("'{}' is '{}', which has control characters", key, printable_line(text));
}

/// A time that is not known is empty.
std::string wrong_time(std::string_view text) {
  if (text.empty() || is_timestamp(text)) return "";
  return fmt::format("'timestamp' is '{}'; expected a time such as 2026-11-21T10:00:00Z",
                     printable_line(text));
}

template <class Sentences = std::initializer_list<std::string>>
std::string first_of(const Sentences& sentences) {
  const auto first = std::ranges::find_if_not(sentences, &std::string::empty);
  return first == sentences.end() ? "" : *first;
}

/// Whether a trial that is called correct has passed its own check.
std::string wrong_check(const Validation& check) {
  if (check.elements <= 0) {
    return fmt::format("'invalidity' is correct, but {} elements were compared", check.elements);
  }
  if (!(check.relative_error <= check.relative_limit * (1 + kErrorDigit))) {
    return fmt::format(
        "'invalidity' is correct, but the relative error is {:.6g}, and {:.6g} is allowed",
        check.relative_error, check.relative_limit);
  }
  if (!(check.worst_element_ratio <= 1 + kErrorDigit)) {
    return fmt::format("'invalidity' is correct, but an element has {:.6g} times its bound",
                       check.worst_element_ratio);
  }
  return "";
}

std::string wrong_figure(const CompileReport& compile) {
  for (const auto& [name, value] : {std::pair("registers", compile.registers),
                                    {"spill_bytes", compile.spill_bytes},
                                    {"stack_bytes", compile.stack_bytes},
                                    {"static_smem_bytes", compile.static_smem_bytes}}) {
    if (value < 0) return fmt::format("'{}' is {}", name, value);
  }
  return wrong_line("cubin_hash", compile.cubin_hash);
}

}  // namespace

bool is_timestamp(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !is_digit(text[i]) : text[i] != kForm[i]) return false;
  }
  const auto is_below = [&](std::size_t at, std::string_view most) {
    return text.substr(at, 2) <= most;
  };
  return is_below(5, "12") && is_below(8, "31") && is_below(11, "23") && is_below(14, "59") &&
         is_below(17, "60");
}

bool is_one_line(std::string_view text) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  return std::ranges::all_of(text, is_plain) || printable_line(text) == text;
}

std::string contradiction(const TrialRecord& trial) {
  const Outcome& outcome = trial.outcome;
  const std::optional<Validation>& check = outcome.validation;
  std::vector<std::string> wrong;
  if (outcome.timing) wrong.push_back(contradiction(*outcome.timing));
  if (outcome.status == Status::compiled && (outcome.timing || check)) {
    wrong.emplace_back("'invalidity' is compiled, but there are figures of a run");
  }
  if (outcome.status == Status::correct && check) wrong.push_back(wrong_check(*check));
  if (trial.verification) wrong.push_back(contradiction(*trial.verification));
  for (const Measurement& each : trial.measurements) wrong.push_back(contradiction(each));
  wrong.push_back(wrong_figure(trial.compile));
  wrong.push_back(wrong_time(trial.finished_at));
  wrong.push_back(wrong_line("detail", outcome.kind));
  wrong.push_back(wrong_line("same_as", outcome.same_as));
  if (check) wrong.push_back(wrong_line("reference", check->reference));
  return first_of(wrong);
}

std::string contradiction(const Verification& verification) {
  if (verification.checks.empty()) return "'verification' has no check";
  for (const VerificationCheck& check : verification.checks) {
    if (std::string wrong = wrong_line("name", check.name); !wrong.empty()) return wrong;
  }
  if (verification.finished_at.empty()) return "'verification' has no 'timestamp'";
  return wrong_time(verification.finished_at);
}

std::string contradiction(const Measurement& measurement) {
  return first_of({wrong_line("name", measurement.name), wrong_line("unit", measurement.unit)});
}

std::string contradiction(const BaselineRecord& baseline) {
  return first_of({wrong_name("baseline", baseline.name), wrong_name("op", baseline.op),
                   contradiction(baseline.timing), wrong_time(baseline.finished_at),
                   wrong_line("detail", baseline.detail), wrong_line("cublas", baseline.cublas),
                   wrong_line("contract_hash", baseline.contract_hash)});
}

std::string contradiction(const RankEntry& entry, const CompileReport& compile) {
  for (const auto& [name, value] : entry.figures) {
    for (const auto& [figure, reported] :
         {std::pair("registers", compile.registers), {"spill_bytes", compile.spill_bytes}}) {
      if (name != figure || value == Number(std::int64_t{reported})) continue;
      return fmt::format("the verdict was computed with {} {} of {} {}, which has {}",
                         to_text(value), name, entry.kernel, entry.config, reported);
    }
  }
  return "";
}

std::string wrong_names(const RankRecord& rank) {
  std::vector<std::string> wrong{wrong_name("op", rank.op), wrong_time(rank.finished_at),
                                 wrong_line("cublas", rank.identity.cublas)};
  for (const std::string& name : rank.identity.baselines) {
    wrong.push_back(wrong_line("baselines", name));
  }
  for (const RankEntry& entry : rank.entries) {  // only a configuration has a kernel
    wrong.push_back(entry.kernel.empty() ? wrong_name("config", entry.config)
                                         : wrong_name("kernel", entry.kernel));
  }
  return first_of(wrong);
}

std::string contradiction(const KernelVersion& kernel) {
  return first_of({wrong_name("name", kernel.name), wrong_name("op", kernel.op),
                   wrong_line("source_hash", kernel.source_hash),
                   wrong_line("contract_hash", kernel.contract_hash)});
}

std::string contradiction(const Toolchain& toolchain) {
  return first_of({wrong_line("nvrtc", toolchain.nvrtc), wrong_line("arch", toolchain.arch),
                   wrong_line("options", toolchain.options),
                   wrong_line("driver", toolchain.driver)});
}

std::string contradiction(const Protocol& protocol) {
  if (!(protocol.precision_ratio >= 0 && protocol.precision_ratio < 1)) {
    return fmt::format("'precision_ratio' is {}; expected 0 or a ratio below 1",
                       protocol.precision_ratio);
  }
  return wrong_name("name", protocol.name);
}

std::string contradiction(const DeviceInfo& device) {
  return first_of({wrong_line("name", device.name), wrong_line("uuid", device.uuid),
                   wrong_line("driver", device.driver)});
}

}  // namespace assay
