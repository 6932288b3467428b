#!/usr/bin/env bash
# scripts/record.sh on the stand-in GPU: the recording lies where a machine without a GPU looks for
# it. It once named a folder where the program wants a file, and a long sweep ended without one. And
# a recording that a change of its kernel makes stale is noticed.
source "$(dirname "$0")/stand_in.sh"

# A tree of its own, in which nothing is to be built.
mkdir scripts sweeps build
cp "$tree"/scripts/{record,examples_table,variants_table,kernel_gate}.sh scripts/
cp "$tree"/scripts/{same_code,speedup_curve}.py scripts/
printf '#!/bin/sh\n' >scripts/build.sh
chmod +x scripts/build.sh
ln -s "$assay" build/assay
cp -r "$tree/kernels" kernels
cat >sweeps/small.yaml <<YAML
sweep: small
kernels: [vector_add]
problems: [{N: 1000}]
params: {VECTOR: [1], ITEMS: [1]}
YAML

scripts/record.sh sweeps/small.yaml >output 2>&1 || fail "record.sh ends with exit $?"
recording=$(echo results/recorded/*/small.jsonl)
[[ -s $recording ]] || fail "there is no recording in results/recorded"
expect 0 'recorded on Fake GPU' \
  build/assay sweep sweeps/small.yaml --device "replay:$recording" --db replay.db

# By energy it was ranked by time, after all had been compiled.
expect 2 'the objective reads energy_j, which no trial recorded on Fake GPU, .* has' \
  build/assay sweep sweeps/small.yaml --device "replay:$recording" --db replay.db --objective energy
# The summary had the problems of earlier sweeps.
sed 's/problems: .*/problems: [{N: 1000}, {N: 2000}]/' sweeps/small.yaml >sweeps/two.yaml
sed -i 's/^sweep: small/sweep: two/' sweeps/two.yaml
expect 0 'N=1000  ' build/assay sweep sweeps/two.yaml --db two.db
expect 0 'N=2000  ' build/assay sweep sweeps/two.yaml --db two.db --problem N=2000
grep -q 'N=1000 ' output && fail "--problem does not filter the summary"
# A problem of which the objective has no answer was missing without a word.
expect 0 '^warning: no winner by minimize .* for 1 of 2 problems: N=1000$' build/assay sweep \
  sweeps/two.yaml --db two.db --objective 'minimize time_ns / (N - 1000)'

# Of two GPUs' recordings the fuller answers: a sweep was widened and measured on one of them, and
# the other, the first by name, called what it lacks a failure.
mkdir results/recorded/a_gpu
last=$(grep -n '"configuration"' "$recording" | tail -1 | cut -d: -f1)
sed "${last}d; /\"rank\":/d" "$recording" >results/recorded/a_gpu/small.jsonl
expect 0 '^no GPU here: times are replayed from a Fake GPU, 20[0-9-]+$' \
  env -u LD_LIBRARY_PATH build/assay sweep sweeps/small.yaml --db 'of both.db'
grep -q 'not_recorded' output && fail "a recording that lacks a trial answers"
# Where the times are from was said in every row.
[[ $(grep -c 'recorded on' output) -eq 1 ]] || fail "the recording is not named once"
# What the summary names as next steps is run as it stands.
sed -n '/^next: /,$s/^[a-z: ]*assay /build\/assay /p' output >next
[[ $(wc -l <next) -eq 3 ]] || fail "the summary does not end with three commands"
while read -r command; do
  expect 0 . bash -c "$command"
done <next

# A fuller one of a kernel that has changed since was preferred, whose times are another program's.
sed -i 's/"source_hash":"[0-9a-f]*"/"source_hash":"00"/' "$recording"
expect 0 'replayed from a Fake GPU, 20[0-9-]+$' \
  env -u LD_LIBRARY_PATH build/assay sweep sweeps/small.yaml --db current.db
rm -r results/recorded/a_gpu
expect 0 'stale' env -u LD_LIBRARY_PATH build/assay sweep sweeps/small.yaml --db stale.db
scripts/record.sh sweeps/small.yaml >output 2>&1 || fail "record.sh does not record again: exit $?"

expect 0 '^\| vector_add \| N=1000 \| [0-9.]+ \| - \| - \| - \|' \
  scripts/examples_table.sh "$recording"
expect 0 '^\| N=1000 \| vector_add \| [0-9]+ \| [0-9.]+ \| 1.000 \[1.000, 1.000\] \|' \
  scripts/variants_table.sh "$recording" BLOCK
[[ $(grep -c '^| N=1000 ' output) -eq $(build/assay list sweeps/small.yaml --json |
  grep -oE '"num_valid": *[0-9]+' | head -1 | grep -oE '[0-9]+$') ]] ||
  fail "the table of BLOCK has not one row for each value"
expect 1 'no re-ranked configuration of such a problem beside the baseline' \
  scripts/speedup_curve.py --over cublaslt --along N --line BLOCK "$recording"

# Stale recordings were skipped by their test, and nobody saw them.
are_as_git_says() { "$tree/harness/tests/e2e/recordings_test.sh" "$assay" "$work" >output 2>&1; }
are_as_git_says || fail "a new recording is not current"
echo "// changed" >>kernels/vector_add.cu
are_as_git_says && fail "a stale recording is not noticed"
grep -q "FAILED: $recording is stale" output || fail "the stale recording is not named"
echo "$recording  # the kernel has changed" >results/recorded/STALE
are_as_git_says || fail "a stale recording that is named fails the test"
grep -q "$recording is stale, as results/recorded/STALE says" output ||
  fail "a stale recording that is named is not mentioned"
expect 0 'gate: passed' scripts/kernel_gate.sh "${recording%/*}" 60
expect 0 'no recording in results/recorded/none is stale' scripts/kernel_gate.sh results/recorded/none
echo "results/recorded/another/sweep.jsonl" >>results/recorded/STALE
are_as_git_says && fail "a recording that is not there may be named"
sed -i '/another/d; s/ *#.*//' results/recorded/STALE
scripts/record.sh sweeps/small.yaml >output 2>&1 || fail "record.sh does not record again: exit $?"
are_as_git_says || fail "what was recorded again is not current, or is still named"

# A comment changes no machine code, and what is recorded stays true.
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q . && git add kernels && git commit -qm kernels || fail "git"
echo "// a comment" >>kernels/vector_add.cu
are_as_git_says && fail "a comment leaves the recording current"
expect 0 'vector_add: ([0-9]+) of \1 are the same' scripts/same_code.py --adopt HEAD
are_as_git_says || fail "a recording of the same code is not adopted"
expect 0 'N=1000 .*vector_add' build/assay best --db "$recording"
sed -i 's/x.lane\[i\] + y/x.lane[i] - y/' kernels/vector_add.cu
expect 1 'vector_add:BLOCK=.* of N=1000' scripts/same_code.py --adopt HEAD
are_as_git_says && fail "a recording of other code is adopted"
git checkout -q kernels && echo "// a comment" >>kernels/vector_add.cu

# A sweep of another name than its file has no recording, and what was measured was deleted.
sed 's/^sweep: small/sweep: other/' sweeps/small.yaml >sweeps/named.yaml
scripts/record.sh sweeps/named.yaml >output 2>&1 && fail "a sweep of another name is exported"
kept=$(grep -o "kept in [^;]*" output) || fail "it is not said where the measurement is"
[[ $(sqlite3 "${kept#kept in }" 'SELECT count(*) FROM trial') -gt 0 ]] || fail "the measurement is lost"

expect 2 'results is a folder' \
  build/assay export --format recording --sweep small --db replay.db --output results
echo ok
