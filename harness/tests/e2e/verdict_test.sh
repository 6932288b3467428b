#!/usr/bin/env bash
# What a verdict is of, on the stand-in GPU, where a kernel is the faster the larger its blocks.
source "$(dirname "$0")/stand_in.sh"

cp -r "$tree/kernels" kernels
# blocks NAME BLOCKS [TOP [SECONDS [PROBLEMS]]]
blocks() {
  write_sweep "$1" "{N: ${5:-5000}}" "BLOCK: $2, VECTOR: [1], ITEMS: [1]" \
    "measure: {precision: 1%, max_seconds_per_config: ${4:-0.1}}" "rerank: {top: ${3:-4}, rounds: 6}"
}
sweep() { "$assay" sweep "$1.yaml" --kernels kernels --db "$2" --device 0 >output 2>&1 || fail "sweep $1: exit $?"; }
query() { sqlite3 "$1" "$2"; }
# The winner of a verdict, or "screened" and the fastest of the screening.
best() {
  "$assay" best --json "$@" >output 2>&1
  sqlite3 :memory: "SELECT group_concat(json_extract(value, '$.problem.N') ||
    iif(json_extract(value, '$.reranked'), ' ', ' screened ') ||
    json_extract(value, '$.config.BLOCK'), ' ')
    FROM json_each(json_extract(readfile('output'), '$.best'))"
}
is() { [[ "$(echo $2)" == "$3" ]] || fail "$1: '$2' instead of '$3'"; }

# A sweep that only reuses trials once owned none: no winner, and a recording without a trial.
blocks a '[64, 128, 256, 512, 1024]'
blocks b '[64, 128]'
sweep a a.db
expect 0 ' 0 now, 2 kept' sweep b a.db
is "b's winner" "$(best --db a.db --sweep b)" "5000 128"
is "a's winner" "$(best --db a.db --sweep a)" "5000 1024"
is "the winner of all" "$(best --db a.db)" "5000 1024"
[[ $("$assay" show --sweep b --db a.db --json | grep -c '"num_trials": 2') -eq 1 ]] || fail "b has not its trials"
"$assay" export --format recording --sweep b --db a.db --output b.jsonl >output || fail "b cannot be exported"
grep -q '2 trials of b' output || fail "b's recording lacks its trials"
is "the winner of b's recording" "$(best --db b.jsonl)" "5000 128"

# The same sweep, narrowed, once printed the wide one's winner; a changed rerank.top did nothing.
# Of two verdicts in one second one was once dropped, so nothing here sleeps.
blocks a '[64, 128]'
expect 0 'BLOCK=128|B=128|128' sweep a a.db
is "the narrowed sweep's winner" "$(best --db a.db --sweep a)" "5000 128"
ranks=$(query a.db 'SELECT count(*) FROM rank')
sweep a a.db
[[ $(query a.db 'SELECT count(*) FROM rank') -eq $ranks ]] || fail "the same question was asked twice"
blocks a '[64, 128]' 3
sweep a a.db
[[ $(query a.db 'SELECT count(*) FROM rank') -gt $ranks ]] || fail "another rerank.top did not rank again"

# Of two sweeps with other candidates the last one's verdict once stood for both.
blocks low '[64, 128]'
blocks high '[512, 1024]'
sweep high union.db
sweep low union.db
is "the winner of the union" "$(best --db union.db)" "5000 1024"
[[ $(query union.db 'SELECT num_candidates FROM rank ORDER BY id DESC LIMIT 1') -eq 4 ]] ||
  fail "the union was not ranked"
is "low's own winner" "$(best --db union.db --sweep low)" "5000 128"

# A verdict once outlived its kernel: edited, screened again and interrupted before the verdict, the
# old one was shown with the new source's hash, and the same command did not rank again.
blocks edited '[64, 128]'
sweep edited edited.db
echo '// edited' >>kernels/vector_add.cu
sweep edited edited.db
query edited.db 'PRAGMA foreign_keys = ON; DELETE FROM rank WHERE id = (SELECT max(id) FROM rank)'
is "without a verdict" "$(best --db edited.db)" "5000 screened 128"
expect 0 ' 0 now, 2 kept' sweep edited edited.db
is "ranked again" "$(best --db edited.db)" "5000 128"

# What was given up because others were faster is no answer where these are not.
blocks wide '[1024]'
sweep wide raced.db
blocks wide '[64, 128, 1024]'
sweep wide raced.db
[[ $(query raced.db "SELECT count(*) FROM timing WHERE stop = 'raced'") -eq 2 ]] || fail "nothing was raced"
blocks slow '[64, 128]'
sweep slow raced.db
is "the winner among the raced" "$(best --db raced.db --sweep slow)" "5000 128"
[[ $(query raced.db "SELECT count(*) FROM trial JOIN config ON config.id = config_id JOIN timing ON
     timing.id = timing_id WHERE stop = 'raced' AND text LIKE 'BLOCK=128,%'") -eq 0 ]] ||
  fail "a censored time decided"

# "raise max_seconds_per_config" was advice that did nothing.
sed -i 's/precision: 1%/precision: 0/' low.yaml
sweep low limit.db
sed -i 's/config: 0.1/config: 0.2/' low.yaml
expect 0 ' 2 now, 0 kept' sweep low limit.db
sed -i 's/config: 0.2/config: 0.1/' low.yaml
expect 0 ' 0 now, 2 kept' sweep low limit.db

# Two at once: each once ranked what it had itself, and the last verdict stood.
blocks both '[64, 128, 256, 512, 1024]' 4 0.05 '[1000, 2000, 3000, 4000]'
"$assay" sweep both.yaml --kernels kernels --db both.db --device 0 >first 2>&1 &
sweep both both.db
wait $! || fail "the first of two sweeps ends with exit $?"
is "the winners of two sweeps at once" "$(best --db both.db)" "1000 1024 2000 1024 3000 1024 4000 1024"
expect 0 ' 0 now, 20 kept' sweep both both.db
"$assay" db check --db both.db >output 2>&1 || fail "the database is not sound"
echo ok
