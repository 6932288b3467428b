#!/usr/bin/env bash
# Tunes a sweep on a cluster: an array job of Slurm, each task one share of the problems on one GPU,
# and a job behind it that joins their databases, exports the winners and writes the page.
# Usage: scripts/slurm_sweep.sh SWEEP.yaml SHARES [OPTION OF SBATCH...]
#   as in  scripts/slurm_sweep.sh sweeps/gemm_h200.yaml 8 --partition=gpu --time=1:00:00
#
# Run it in a built tree on a file system that all nodes see. A task asks for one GPU, unless
# ASSAY_SLURM_TASK says otherwise. What ends early (preempted, a node that dies, a time limit) has
# kept what it measured: Slurm starts preempted tasks again, and for the others the same command
# goes on where they ended. Results: results/slurm/SWEEP/joined.db, tuned.json, report.html.
set -euo pipefail
cd "$(dirname "$0")/.."

join() {
  local folder=$1 parts=()
  for part in "$folder"/share-*.db; do parts+=("$part"); done
  rm -f "$folder/joined.db" "$folder"/joined.db-{wal,shm,journal}
  build/assay db merge "${parts[@]}" --output "$folder/joined.db"
  build/assay export --format json --db "$folder/joined.db" --output "$folder/tuned.json"
  build/assay report --html "$folder/report.html" "$folder/joined.db"
  build/assay best --db "$folder/joined.db"
}

if [ "${1-}" = --join ]; then
  join "$2"
  exit
fi

if [ $# -lt 2 ] || ! [[ $2 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '4,5s/^# //p' "$0" >&2
  exit 2
fi
sweep=$1
shares=$2
[ -f "$sweep" ] || { echo "slurm_sweep: no file $sweep" >&2; exit 2; }
[ -x build/assay ] || { echo "slurm_sweep: no build/assay; run scripts/build.sh first" >&2; exit 2; }
folder=results/slurm/$(basename "$sweep" .yaml)
mkdir -p "$folder"

# exec: Slurm's signals reach assay itself, which then stores what it has and ends.
read -ra task <<<"${ASSAY_SLURM_TASK:---gpus-per-task=1 --device 0}"
gpu=() where=()
for word in "${task[@]}"; do
  case $word in --gpus* | --gres*) gpu+=("$word") ;; *) where+=("$word") ;; esac
done
command="exec build/assay sweep $(printf '%q ' "$sweep" "${where[@]}") \
  --shard \$SLURM_ARRAY_TASK_ID/$shares --db $(printf '%q' "$folder")/share-\$SLURM_ARRAY_TASK_ID.db"
array=$(sbatch --parsable --job-name="assay-$(basename "$sweep" .yaml)" --array="1-$shares" \
  --ntasks=1 --requeue --open-mode=append --output="$folder/share-%a.log" "${gpu[@]}" "${@:3}" \
  --wrap "$command")
joined=$(sbatch --parsable --job-name="assay-join" --dependency="afterany:${array%%;*}" --ntasks=1 \
  --output="$folder/join.log" "${@:3}" --wrap "exec scripts/slurm_sweep.sh --join $(printf '%q' "$folder")")
echo "job ${array%%;*}: $shares shares of $sweep; job ${joined%%;*} joins them in $folder"
