#!/usr/bin/env bash
# Checks two rules of harness/, and prints file:line of everything that breaks one.
#
# Data flows one way, and so do includes. A folder includes itself and what the table below allows.
# Tests may include everything.
#
# A type is defined once. Two headers, never included together, once defined two types of the same
# name, and in the program both ran the destructor of one of them.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files -- 'harness/*.h' 'harness/*.cpp' ':!harness/tests')
awk '
  BEGIN {
    core = "base spec space search messages ranking"
    allowed["base"]     = "base"
    allowed["inspect"]  = "base inspect"
    allowed["emulator"] = "base emulator"
    allowed["spec"]     = "base spec"
    allowed["space"]    = "base spec space"
    allowed["pack"]     = "base spec space pack"
    allowed["search"]   = "base spec space search"
    allowed["messages"] = "base spec space messages"
    allowed["ranking"]  = "base spec space messages ranking"
    allowed["store"]    = core " store"
    allowed["report"]   = core " store inspect report"
    # The parent of a worker uses only messages to talk to it.
    allowed["device"]   = "base spec space messages device"
    # The stages that build with CUDA headers.
    allowed["compile"]  = "base spec space compile"
    allowed["cuda"]     = "base emulator cuda"
    allowed["launch"]   = "base emulator spec space cuda launch"
    allowed["support"]  = allowed["launch"] " support"
    allowed["timing"]   = allowed["support"] " messages timing"
    allowed["judge"]    = allowed["timing"] " judge"
    allowed["worker"]   = allowed["judge"] " worker"
    # What a program links that launches tuned kernels.
    allowed["runtime"]  = allowed["launch"] " pack runtime assay"
    # Around all of it.
    allowed["tuner"]    = core " inspect store report device compile tuner"
    allowed["cli"]      = allowed["tuner"] " cuda judge support pack cli"
    allowed["bench"]    = allowed["cli"] " bench"
    allowed["main.cpp"] = allowed["cli"] " worker"
    num_bad = 0
  }
  function bad(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    ++num_bad
  }
  FNR == 1 { split(FILENAME, part, "/"); folder = part[2] }
  /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    if (name ~ /^(cuda|cublas|cupti|nvrtc|nvml)[A-Za-z0-9_]*\.h$/ &&
        folder !~ /^(compile|emulator|cuda|launch|runtime|support|timing|judge|worker)$/) {
      bad("includes <" name ">; only compile, emulator and the rooms from cuda to worker may")
    }
    if ($0 !~ /"/) next
    split(name, target, "/")
    if (!(folder in allowed)) bad("lies in a folder that has no row in the table")
    if (index(" " allowed[folder] " ", " " target[1] " ") == 0) {
      bad("includes \"" name "\"; " folder " may include: " allowed[folder])
    }
  }
  FILENAME ~ /\.h$/ && /^(struct|class|enum class) [A-Za-z]+[^;]*\{/ {
    type = $1 == "enum" ? $3 : $2
    if (type in defined) bad("defines " type ", as " defined[type] " does")
    defined[type] = FILENAME
  }
  END { exit num_bad > 0 }
' "${files[@]}"
