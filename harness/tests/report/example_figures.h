#pragma once

#include <gmock/gmock.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "report/explain.h"

// Figures of a trial as a database would give them, for the tests of what is said of them.
namespace assay::example {

/// 24.6 us on an H200, all of whose SMs are full for many waves, and nothing else known.
inline Figures plain(double time_ns = 24600) {
  Figures figures;
  figures.title = "trial 1: k";
  figures.where = "on NVIDIA H200";
  figures.time_ns = {time_ns, time_ns * 0.995, time_ns * 1.005};
  figures.protocol = "cold";
  figures.clock_mhz = 1860;
  figures.bytes = 100e6;
  figures.flops = 1e9;
  figures.cc = 90;
  figures.sm_count = 132;
  figures.report = CompileReport{};
  figures.report->registers = 32;
  figures.launches = {{"k", 132 * 8 * 50, 256, Occupancy{8, "threads", 1.0}}};
  figures.findings = std::vector<CodeFinding>{};
  figures.profile_command = "assay profile 1";
  return figures;
}

inline void count(Figures& figures, std::initializer_list<std::pair<const char*, double>> values) {
  for (const auto& [name, value] : values) figures.counters.push_back({name, value, ""});
}

/// Of 100 warps for each instruction issued, as many wait for each as is said here.
inline void count_waits(Figures& figures, double memory, double shared, double barrier, double math,
                        double dependency) {
  count(figures, {{"occupancy", 62.5},
                  {"issue_busy", 10},
                  {"stalled_memory", memory},
                  {"stalled_shared", shared},
                  {"stalled_barrier", barrier},
                  {"stalled_math", math},
                  {"stalled_dependency", dependency}});
}

inline auto named(std::string_view name) {
  return ::testing::Contains(::testing::Field(&Cause::name, name));
}
inline auto has_missing(std::string_view command) {
  return ::testing::Contains(
      ::testing::Field(&MissingFigure::command, ::testing::HasSubstr(std::string(command))));
}

/// Expects this main reason, and a headline that matches.
inline void expect_explained(const Figures& figures, std::string_view main,
                             const ::testing::Matcher<const std::string&>& headline) {
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, main);
  EXPECT_THAT(said.headline, headline);
}

}  // namespace assay::example
