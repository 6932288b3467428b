#!/usr/bin/env bash
# scripts/ci on the stand-in GPU, where a kernel is the faster the larger its blocks: what a
# workflow runs, twice in one folder, as a runner that is kept does.
source "$(dirname "$0")/stand_in.sh"
export ASSAY=$assay
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

# commit BLOCKS: a sweep that tries these, as a commit.
commit() {
  write_sweep sweeps/s '{N: 1000}' "BLOCK: $1, VECTOR: [1], ITEMS: [1]" \
    'measure: {precision: 1%, max_seconds_per_config: 0.1}' 'rerank: {top: 4, rounds: 30}'
  git add -A && git commit -qm "$1"
}
git init -q repository && cd repository || fail "git init"
printf '*.db*\ngate.*\nreport.html\nruns\n' >.gitignore
mkdir sweeps
cp -r "$tree/kernels" kernels
git add -A && git commit -qm 'no sweep yet'
commit '[1024]'
commit '[64]'

# A pull request that is slower. The second run finds what the first has left. Once it ended with
# "'base' already exists", and its page showed no change.
for run in first second; do
  expect 1 'gate: failed' "$tree/scripts/ci/gate.sh" HEAD~1 sweeps/s.yaml
  grep -q 'slower' gate.md || fail "the $run summary does not say slower"
  grep -q 'failures="1"' gate.xml || fail "the $run JUnit file has no failure"
  sed 's/.*<script id="data" type="text\/plain">\([^<]*\)<.*/\1/;t;d' report.html | base64 -d | gunzip |
    grep -q '"slower"' || fail "the $run page shows no change"
  [[ ! -e base ]] || fail "the $run run leaves its worktree"
done
# A run that was killed leaves its worktree.
git worktree add --quiet --detach base HEAD
expect 0 'gate: passed' "$tree/scripts/ci/gate.sh" HEAD sweeps/s.yaml
expect 0 'is new' "$tree/scripts/ci/gate.sh" HEAD~2 sweeps/s.yaml
expect 128 'invalid reference: nothing' "$tree/scripts/ci/gate.sh" nothing sweeps/s.yaml
ASSAY_FAKE_CUDA=no_device expect 3 'no GPU|no device' "$tree/scripts/ci/gate.sh" HEAD sweeps/s.yaml

# Nights: the history names commits, and a change is told once it is there to stay: without a
# baseline, from the fifth run after it on.
commit '[1024]'
for night in {1..10}; do
  sleep 1  # runs are told apart, and put in order, by their second
  [[ $night -eq 6 ]] && commit '[64]'
  git commit -q --allow-empty -m "night $night"
  expect 0 'N=1000' "$tree/scripts/ci/nightly.sh" runs sweeps/s.yaml
  [[ $night -eq 10 || ! -e runs/changes.md ]] || fail "night $night tells of a change too early"
done
[[ $(ls runs/*.jsonl | wc -l) -eq 10 ]] || fail "a night is lost"
[[ -s runs/index.html && -s runs/history.txt ]] || fail "there is no page or no history"
grep -qE '^- add_f32 N=1000 on Fake GPU: \+.*% from [0-9-]+-[0-9a-f]+ to [0-9-]+-[0-9a-f]+; what else' \
  runs/changes.md || fail "changes.md: $(cat runs/changes.md)"

# The workflows run these scripts, and nothing else of theirs needs a GPU.
run=$(sed -n 's|^ *- run: \(scripts/example_page.sh .*\)|\1|p' "$tree/scripts/ci/github.yml")
read -r script folder _ <<<"$run"
grep -q "path: $folder}" "$tree/scripts/ci/github.yml" || fail "the example page is not uploaded"
"$tree/$script" "$work/$folder" "$assay" >output 2>&1 || fail "$run: exit $?"
[[ -s $work/$folder/index.html ]] || fail "there is no example page"
for workflow in github gitlab; do
  grep -q 'build/assay check "$SWEEP"' "$tree/scripts/ci/$workflow.yml" || fail "$workflow.yml: no check"
done
for workflow in github gitlab github-nightly; do
  grep -qE 'scripts/ci/(gate|nightly)\.sh' "$tree/scripts/ci/$workflow.yml" || fail "$workflow.yml"
done
