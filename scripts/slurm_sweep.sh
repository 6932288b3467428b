#!/usr/bin/env bash
# Tunes a sweep on a cluster: an array job of Slurm, each task one share of the problems on one GPU,
# and a job behind it that joins their databases, exports the winners and writes the page.
# Usage: scripts/slurm_sweep.sh SWEEP.yaml SHARES [OPTION OF SBATCH...]
#   as in  scripts/slurm_sweep.sh sweeps/gemm_h200.yaml 8 --partition=gpu --time=1:00:00
#
# Run it in a built tree on a file system that all nodes see. A task asks for one GPU, unless
# ASSAY_SLURM_TASK says otherwise. Its database is on a disk of the node (TMPDIR, else /tmp), for the
# file systems of clusters often have no locks; each minute and in the end it is copied to
# results/slurm/SWEEP. What ends early (preempted, a node that dies, a time limit) has kept what was
# copied: Slurm starts preempted tasks again, and for the others the same command goes on where they
# ended. Results: results/slurm/SWEEP/joined.db, tuned.json, report.html. The job that joins fails,
# and names the shares, where some are missing or did not end.
set -euo pipefail
cd "$(dirname "$0")/.."

# share FOLDER NUMBER ARGUMENT...: a sweep of this share, with these arguments.
share() {
  local folder=$1 name=share-$2 status=0 saved=$SECONDS told=''
  shift 2
  # Without `local`: the trap on EXIT runs outside of the function.
  disk=$(mktemp -d "${TMPDIR:-/tmp}/assay-XXXXXX")
  trap 'rm -rf "$disk"' EXIT
  rm -f "$folder/$name.done"
  if [ -f "$folder/$name.db" ]; then cp "$folder/$name.db" "$disk/share.db"; fi
  save() {
    rm -f "$disk"/copy.db*
    build/assay db merge "$disk/share.db" --output "$disk/copy.db" >/dev/null &&
      cp "$disk/copy.db" "$folder/$name.db.new" && mv "$folder/$name.db.new" "$folder/$name.db"
  }
  trap 'told=${told:-$SECONDS}' TERM INT HUP
  build/assay sweep "$@" --db "$disk/share.db" &
  while kill -0 $! 2>/dev/null; do
    sleep 1 || true # Slurm ends it with all others of the task
    if ((SECONDS - saved >= 60)) && [ -f "$disk/share.db" ]; then
      saved=$SECONDS
      save || echo "slurm_sweep: cannot copy the results to $folder" >&2
    fi
    # Slurm's signals mostly reach assay, too, which then stores what it has and ends. A second
    # signal would end it at once.
    if [ -n "$told" ] && ((SECONDS - told >= 5)); then
      kill -TERM $! 2>/dev/null || true
      told=$((SECONDS + 3600))
    fi
  done
  wait $! || status=$?
  if [ -f "$disk/share.db" ] && ! save; then
    trap - EXIT
    echo "slurm_sweep: cannot copy the results to $folder; they are on $(hostname) in $disk" >&2
    return 3
  fi
  # 1: it ended, and some problem has no correct kernel.
  if [ $status -le 1 ]; then touch "$folder/$name.done"; fi
  return $status
}

join() {
  local folder=$1 parts=() lacking=() shares
  shares=$(cat "$folder/shares" 2>/dev/null) ||
    echo "slurm_sweep: no file $folder/shares, which says how many shares there are" >&2
  for ((i = 1; i <= ${shares:-0}; ++i)); do
    [ -f "$folder/share-$i.done" ] || lacking+=("$i")
  done
  for part in "$folder"/share-*.db; do [ -f "$part" ] && parts+=("$part"); done
  if [ ${#parts[@]} -eq 0 ]; then
    echo "slurm_sweep: no share has left a database in $folder" >&2
    return 1
  fi
  rm -f "$folder/joined.db" "$folder"/joined.db-{wal,shm,journal}
  build/assay db merge "${parts[@]}" --output "$folder/joined.db"
  build/assay export --format json --db "$folder/joined.db" --output "$folder/tuned.json"
  build/assay report --html "$folder/report.html" "$folder/joined.db"
  build/assay best --db "$folder/joined.db"
  if [ ${#lacking[@]} -gt 0 ]; then
    echo "slurm_sweep: of $shares shares these are missing or did not end: ${lacking[*]};" \
      "the same command goes on with them" >&2
  fi
  [ -n "${shares:-}" ] && [ ${#lacking[@]} -eq 0 ]
}

case ${1-} in
  --join) join "$2"; exit ;;
  --share) share "${@:2}"; exit ;;
esac

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
# Another number of shares divides the problems otherwise. What was measured stays, and is joined.
[ "$(cat "$folder/shares" 2>/dev/null)" = "$shares" ] || rm -f "$folder"/share-*.done
echo "$shares" >"$folder/shares"

# Words for the sh that runs what --wrap says; what printf '%q' makes of other letters than ASCII it
# does not know.
quoted() {
  local word
  for word in "$@"; do printf "'%s' " "${word//\'/\'\\\'\'}"; done
}

read -ra task <<<"${ASSAY_SLURM_TASK:---gpus-per-task=1 --device 0}"
gpu=() where=()
for word in "${task[@]}"; do
  case $word in --gpus* | --gres*) gpu+=("$word") ;; *) where+=("$word") ;; esac
done
command="exec scripts/slurm_sweep.sh --share $(quoted "$folder") \$SLURM_ARRAY_TASK_ID \
  $(quoted "$sweep" "${where[@]}") --shard \$SLURM_ARRAY_TASK_ID/$shares"
array=$(sbatch --parsable --job-name="assay-$(basename "$sweep" .yaml)" --array="1-$shares" \
  --ntasks=1 --requeue --open-mode=append --output="$folder/share-%a.log" "${gpu[@]}" "${@:3}" \
  --wrap "$command")
joined=$(sbatch --parsable --job-name="assay-join" --dependency="afterany:${array%%;*}" --ntasks=1 \
  --output="$folder/join.log" "${@:3}" \
  --wrap "exec scripts/slurm_sweep.sh --join $(quoted "$folder")")
echo "job ${array%%;*}: $shares shares of $sweep; job ${joined%%;*} joins them in $folder"
