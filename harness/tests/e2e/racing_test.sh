#!/usr/bin/env bash
# Racing on the stand-in GPU, where a kernel is the faster the larger its blocks: the slow ones are
# given up, the winner is the same, and each re-rank has its noise floor. What was stopped too early
# for another question is measured again.
source "$(dirname "$0")/stand_in.sh"

for protocol in cold graph; do
  write_sweep racing_$protocol '{N: [1000, 5000]}' 'VECTOR: [1], ITEMS: [1, 2]' \
    'search: {strategy: random, seed: 3}' 'rerank: {top: 4, rounds: 6}' \
    "measure: {protocol: $protocol, precision: 0.5%, max_seconds_per_config: 0.2}"
  expect 0 '[1-9][0-9]* clearly slower configurations were stopped early' \
    "$assay" sweep racing_$protocol.yaml --kernels "$tree/kernels" --db a.db --device 0
done

query() { sqlite3 a.db "$1"; }
raced=$(query "SELECT count(*) FROM timing WHERE stop = 'raced'")
[[ $raced -gt 0 && $raced -lt 36 ]] || fail "$raced of 40 trials were raced out"
stores a.db "SELECT count(*) FROM rank_entry JOIN rank ON rank.id = rank_id
            JOIN config ON config.text = rank_entry.config
            JOIN trial ON config_id = config.id AND trial.problem_id = rank.problem_id AND
              trial.protocol_id = rank.protocol_id
            JOIN timing ON timing.id = timing_id
            WHERE stop = 'raced'" 0
stores a.db "SELECT count(*) FROM rank_entry WHERE winner AND config LIKE 'BLOCK=1024,%'" 4
stores a.db "SELECT count(*) FROM rank_noise" 4
stores a.db "SELECT count(*) FROM timing WHERE abs(clock_mhz - 1755) > 2" 0
# The stand-in has no NVML, and so no energy to rank by: the same trials are ranked by time, again.
ranks=$(query 'SELECT count(*) FROM rank')
expect 0 ' 0 now, [1-9][0-9]* kept' "$assay" sweep racing_graph.yaml --kernels "$tree/kernels" \
  --db a.db --device 0 --objective energy
[[ $(grep -c 'energy was not measured on Fake GPU: NVML does not tell it; ranked by time' output) -eq 1 ]] ||
  fail "the missing energy is not said once"
stores a.db "SELECT count(*) FROM rank WHERE objective = 'time'" $((ranks + 2))
expect 0 'correct, stopped early' "$assay" show --times --db a.db
expect 0 '' "$assay" db check --db a.db
# A parent without standard streams once gave its socket the number of one, and no worker started.
# All is measured; that the summary is lost is an error.
"$assay" sweep racing_graph.yaml --kernels "$tree/kernels" --db closed.db --device 0 <&- >&- 2>&-
code=$?
[[ $code -eq 3 ]] || fail "without standard streams the sweep ends with exit $code"
stores closed.db "SELECT count(*) FROM sweep WHERE state = 'done'" 1

# blocks NAME BLOCKS
blocks() {
  write_sweep "$1" '{N: 5000}' "BLOCK: $2, VECTOR: [1], ITEMS: [1]" \
    'measure: {precision: 1%, max_seconds_per_config: 0.1}' 'rerank: {top: 4, rounds: 6}'
}
sweep() { "$assay" sweep "$1.yaml" --kernels "$tree/kernels" --db "$2" --device 0 >output 2>&1 || fail "sweep $1: exit $?"; }
# What was given up because others were faster is no answer where these are not.
blocks wide '[1024]'
sweep wide raced.db
blocks wide '[64, 128, 1024]'
sweep wide raced.db
stores raced.db "SELECT count(*) FROM timing WHERE stop = 'raced'" 2
blocks slow '[64, 128]'
sweep slow raced.db
expect 0 '"BLOCK": 128' "$assay" best --json --db raced.db --sweep slow
# A censored time does not decide.
stores raced.db "SELECT count(*) FROM trial JOIN config ON config.id = config_id JOIN timing ON
  timing.id = timing_id WHERE stop = 'raced' AND text LIKE 'BLOCK=128,%'" 0

# "raise max_seconds_per_config" was advice that did nothing.
blocks low '[64, 128]'
sed -i 's/precision: 1%/precision: 0/' low.yaml
sweep low limit.db
sed -i 's/config: 0.1/config: 0.2/' low.yaml
expect 0 ' 2 now, 0 kept' sweep low limit.db
sed -i 's/config: 0.2/config: 0.1/' low.yaml
expect 0 ' 0 now, 2 kept' sweep low limit.db
echo ok
