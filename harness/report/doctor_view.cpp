#include "report/doctor_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

/// On an H200, two events with nothing between lie 2.7 us apart, or 5.4 us if the host is too slow
/// to keep the stream fed. Beyond this limit, the stream is not held while launches are enqueued.
constexpr double kMostEmptyEventNs = 15'000;
/// A read out of L2 must take clearly less than one from memory; an H200 reads 32 MiB in 11.9 us
/// cold.
constexpr double kMostHotOverCold = 0.9;
/// If a cold read is faster than the memory, part of it came from L2. A small read may seem a
/// little faster than a steady one, because of the timer's grain.
constexpr double kMostColdRateOverCeiling = 1.1;
/// Medians of one kernel, measured cold five times over, repeat within 1-2 % on a quiet GPU.
constexpr double kMostSpread = 0.03;

/// Two GPUs of a model differ by a few percent in what power lets them do.
constexpr double kMostGpuSpread = 0.05;

/// In a re-rank on a quiet H200, a kernel and its A/A duplicate differ by 0.2 to 2.2 %, the more
/// the shorter the kernel is. The read of the self-test takes 12 us.
constexpr double kMostNoiseFloor = 0.03;

bool positive(double value) { return std::isfinite(value) && value > 0; }

Finding judge_timer(const std::string& name, const SelfMeasurement& m) {
  Finding finding{name + " timer",
                  fmt::format("between two events: nothing {}, an empty kernel {}",
                              format_time(m.empty_event_ns), format_time(m.empty_kernel_ns))};
  if (!positive(m.empty_event_ns) || !positive(m.empty_kernel_ns) ||
      m.empty_kernel_ns < 0.5 * m.empty_event_ns) {
    finding.mark(Fitness::suspicious,
                 "events do not measure what lies between them; update the driver");
  } else if (m.empty_event_ns > kMostEmptyEventNs) {
    finding.mark(Fitness::suspicious,
                 "launches wait for the host; stop other programs, or do not measure small "
                 "kernels here");
  }
  return finding;
}

Finding judge_flush(const std::string& name, const SelfMeasurement& m) {
  const double size = static_cast<double>(m.read_bytes);
  Finding finding{name + " flush",
                  fmt::format("{} read cold in {}, hot in {}", format_bytes(size),
                              format_time(m.cold_read_ns), format_time(m.hot_read_ns))};
  if (positive(m.dirty_read_ns)) {
    finding.found += fmt::format(", after a memset {}", format_time(m.dirty_read_ns));
  }
  if (!positive(m.cold_read_ns) || !positive(m.hot_read_ns)) {
    finding.mark(Fitness::suspicious, "the read could not be timed; run again");
  } else if (m.ceilings.read_bytes_per_s > 0 &&
             size / m.cold_read_ns * 1e9 > kMostColdRateOverCeiling * m.ceilings.read_bytes_per_s) {
    finding.mark(Fitness::suspicious,
                 fmt::format("the cold read beats the memory ({}): the flush leaves data in L2",
                             format_rate(m.ceilings.read_bytes_per_s, "B/s")));
  } else if (m.l2_bytes < m.read_bytes) {
    finding.mark(Fitness::note, fmt::format("L2 holds only {}, so that a hot read proves nothing",
                                            format_bytes(m.l2_bytes)));
  } else if (m.hot_read_ns > kMostHotOverCold * m.cold_read_ns) {
    finding.mark(Fitness::suspicious,
                 "a hot read is as slow as a cold one: the flush is not proven; is the GPU "
                 "shared, or its L2 partitioned?");
  }
  return finding;
}

Finding judge_noise(const std::string& name, const SelfMeasurement& m) {
  Finding finding{name + " noise", fmt::format("medians of one kernel spread by {:.2f} %",
                                               m.repeat_spread_ratio * 100)};
  if (!(m.repeat_spread_ratio <= kMostSpread)) {
    finding.mark(Fitness::suspicious,
                 "clocks move or others use the GPU; see nvidia-smi, stop them, let it cool");
  }
  return finding;
}

Finding judge_noise_floor(const std::string& name, const SelfMeasurement& m) {
  Finding finding{name + " noise floor",
                  fmt::format("a kernel differs from itself by up to {:.2f} % in a re-rank",
                              m.noise_floor_ratio * 100)};
  if (!(m.noise_floor_ratio <= kMostNoiseFloor)) {
    finding.mark(
        Fitness::suspicious,
        "smaller differences between kernels cannot be told from noise; stop other programs");
  }
  return finding;
}

std::string megahertz(const std::optional<double>& mhz) {
  return mhz ? fmt::format("{:.0f} MHz", *mhz) : "unknown";
}

Finding judge_clocks(const std::string& name, const SelfMeasurement& m) {
  Finding finding{name + " clocks", ""};
  const std::string measured =
      m.clock_mhz > 0 ? fmt::format("SMs {:.0f} MHz in short work", m.clock_mhz) : "SMs unknown";
  if (!m.health) {
    finding.found = measured;
    finding.mark(Fitness::note,
                 "NVML is not there: whether the clocks are set or held down is not known");
    return finding;
  }
  const bool are_set = (m.health->state.throttle_reasons & kClocksSetReason) != 0;
  finding.found =
      fmt::format("{} of at most {}, memory {}, {}", measured, megahertz(m.health->max_clock_mhz),
                  megahertz(m.health->memory_clock_mhz), are_set ? "set by someone" : "not locked");
  if (are_set) {
    finding.mark(Fitness::note, "compare times only with those taken at the same setting");
  } else if (m.clock_mhz <= 0) {
    finding.mark(Fitness::note, "the SM clock could not be measured; samples are kept without it");
  }
  return finding;
}

Finding judge_throttling(const std::string& name, const GpuHealth& health) {
  const std::string reasons = throttle_text(health.state.throttle_reasons);
  Finding finding{name + " throttling",
                  fmt::format("{}, {:.0f} W, {:.0f} C", reasons.empty() ? "none" : reasons,
                              health.state.power_w, health.state.temperature_c)};
  if (!reasons.empty()) {
    finding.mark(Fitness::suspicious,
                 "the clocks are held down; stop what loads the GPU, or let it cool");
  }
  return finding;
}

Finding judge_partition(const std::string& name, const SelfMeasurement& m) {
  Finding finding{name + " partition", "none"};
  if (m.mps) {
    finding.found = "shared by CUDA's multi-process service (MPS)";
    finding.mark(Fitness::suspicious,
                 "other programs may run beside what is timed; stop it with: echo quit | "
                 "nvidia-cuda-mps-control");
  } else if (m.is_slice) {
    finding.found = "a slice of a GPU (MIG)";
    finding.mark(Fitness::note,
                 "its results are of a device of their own; other slices may disturb them");
  }
  return finding;
}

Finding judge_sharing(const std::string& name, const GpuHealth& health) {
  const int others = std::max(0, health.num_processes.value_or(1) - 1);
  Finding finding{name + " sharing",
                  health.num_processes ? fmt::format("{} other processes", others) : "unknown"};
  if (!health.num_processes) {
    finding.mark(Fitness::note, "the driver does not say who else uses the GPU");
  } else if (others > 0) {
    finding.mark(Fitness::suspicious, "others use the GPU; see nvidia-smi, and stop them");
  }
  return finding;
}

Finding judge_ceilings(const std::string& name, const SelfMeasurement& m) {
  struct Row {
    const char* name;
    double rate;
    const char* unit;
  };
  const Ceilings& c = m.ceilings;
  Finding finding{name + " ceilings", ""};
  for (const Row& row : {Row{"copy", c.copy_bytes_per_s, "B/s"},
                         {"read", c.read_bytes_per_s, "B/s"},
                         {"L2", c.l2_bytes_per_s, "B/s"},
                         {"bf16", c.bf16_flops_per_s, "FLOP/s"},
                         {"fp8", c.fp8_flops_per_s, "FLOP/s"},
                         {"tf32", c.tf32_flops_per_s, "FLOP/s"},
                         {"f32", c.f32_flops_per_s, "FLOP/s"},
                         {"f64", c.f64_flops_per_s, "FLOP/s"},
                         {"i8", c.i8_flops_per_s, "OP/s"}}) {
    finding.found += fmt::format("{}{} {}", finding.found.empty() ? "" : ", ", row.name,
                                 format_rate(row.rate, row.unit));
    if (!positive(row.rate)) finding.fitness = Fitness::suspicious;
  }
  if (finding.fitness != Fitness::ok) {
    finding.advice = "without all of them, a time that is too good to be true may pass";
  }
  return finding;
}

}  // namespace

std::string_view to_text(Fitness fitness) {
  constexpr std::string_view kWords[] = {"ok", "note", "missing", "suspicious"};
  return kWords[static_cast<std::size_t>(fitness)];
}

std::vector<Finding> assess(const std::string& name, const SelfMeasurement& measured) {
  std::vector<Finding> findings{judge_timer(name, measured), judge_flush(name, measured),
                                judge_noise(name, measured), judge_noise_floor(name, measured),
                                judge_clocks(name, measured)};
  findings.push_back(judge_partition(name, measured));
  if (const auto& health = measured.health) {
    findings.push_back(judge_throttling(name, *health));
    findings.push_back(judge_sharing(name, *health));
    if (health->ecc) {
      findings.push_back({name + " ECC", *health->ecc ? "on" : "off"});
    }
  }
  findings.push_back(judge_ceilings(name, measured));
  return findings;
}

Finding judge_counters(std::string_view driver_params, bool is_administrator) {
  Finding finding{"counters", "everybody may count"};
  if (driver_params.find("RmProfilingAdminOnly: 0") != std::string_view::npos) return finding;
  if (driver_params.find("RmProfilingAdminOnly: 1") == std::string_view::npos) {
    return {"counters", "the driver does not say who may count", Fitness::note, ""};
  }
  finding.found = "only administrators may count";
  if (is_administrator) return finding;
  finding.mark(Fitness::note,
               "assay profile needs root here, or the driver loaded with the option "
               "NVreg_RestrictProfilingToAdminUsers=0; times need neither");
  return finding;
}

std::vector<Finding> compare_gpus(const std::vector<ComparedGpu>& gpus) {
  std::map<std::string, std::vector<const ComparedGpu*>> models;
  for (const ComparedGpu& gpu : gpus) models[gpu.model].push_back(&gpu);
  std::vector<Finding> findings;
  for (const auto& [model, of_model] : models) {
    if (of_model.size() < 2) continue;
    Finding finding{"GPUs", fmt::format("{} of {}:", of_model.size(), model)};
    struct Rate {
      const char* name;
      double Ceilings::*rate;
    };
    for (const Rate& rate :
         {Rate{"memory", &Ceilings::read_bytes_per_s}, {"bf16", &Ceilings::bf16_flops_per_s}}) {
      const auto rate_of = [&](const ComparedGpu* gpu) { return gpu->ceilings.*rate.rate; };
      const auto [slowest, fastest] = std::ranges::minmax_element(of_model, {}, rate_of);
      const double low = rate_of(*slowest), high = rate_of(*fastest);
      const double spread = positive(low) ? high / low - 1 : 0;
      finding.found +=
          fmt::format("{} {} rates within {:.1f} %", finding.found.ends_with(':') ? "" : ",",
                      rate.name, 100 * spread);
      if (!(spread > kMostGpuSpread)) continue;
      finding.mark(Fitness::suspicious,
                   fmt::format("{} is {:.1f} % slower than {}: look at its cooling and power",
                               (*slowest)->name, 100 * (1 - low / high), (*fastest)->name));
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string doctor_text(const std::vector<Finding>& findings, const std::string& conclusion,
                        const Terminal& terminal) {
  Table table({"check", "fitness", "found"});
  std::string advice;
  for (const Finding& finding : findings) {
    table.add_row({finding.topic, std::string(to_text(finding.fitness)), finding.found},
                  finding.fitness == Fitness::missing      ? Style::failure
                  : finding.fitness == Fitness::suspicious ? Style::warning
                                                           : Style::plain);
    if (!finding.advice.empty()) {
      advice += folded_text(finding.topic + ": " + finding.advice, terminal);
    }
  }
  return table.text(terminal) + '\n' + advice + (advice.empty() ? "" : "\n") +
         folded_text(conclusion, terminal);
}

std::string doctor_json(const std::vector<Finding>& findings, const std::string& conclusion,
                        bool fit) {
  const auto finding_json = [](const Finding& finding) -> Json {
    return {{"topic", finding.topic},
            {"fitness", to_text(finding.fitness)},
            {"found", finding.found},
            {"advice", finding.advice}};
  };
  return document("doctor", {{"findings", json_list(findings, finding_json)},
                             {"conclusion", conclusion},
                             {"is_fit", fit}});
}

}  // namespace assay
