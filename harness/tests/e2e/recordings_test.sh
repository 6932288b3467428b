#!/usr/bin/env bash
# Whether each recording in results/recorded is as git says it is: current, or named in
# results/recorded/STALE. Only a GPU can measure a stale one again, so a change of a kernel may leave
# one behind, but not unnoticed. Arguments: the program, the tree.
set -uo pipefail

assay=$1
cd "$2" || exit 1
list=results/recorded/STALE

listed=$("$assay" list --recordings)
[[ $? -le 1 ]] || exit 1
stale=$(awk '/^results\/recorded\/.* stale: / {print $1}' <<<"$listed" | sort)
named=$(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' $list 2>/dev/null | sort)

failures=0
failed() {
  failures=$((failures + 1))
  echo "FAILED: $1"
}
for recording in $(comm -23 <(echo "$stale") <(echo "$named")); do
  failed "$recording is stale: measure it again on a GPU with scripts/record.sh, or name it in $list"
done
for recording in $(comm -13 <(echo "$stale") <(echo "$named")); do
  failed "$recording is named in $list, but it is not a stale recording"
done
for recording in $(comm -12 <(echo "$stale") <(echo "$named")); do
  echo "$recording is stale, as $list says"
done

# A verdict holds of the trials that it chose from, and of no others. The sources of two kernels were
# named anew, and the trials of their recording were no longer what its verdicts had chosen from:
# `best` had none to show, and a later export left all of them out.
for recording in results/recorded/*/*.jsonl; do
  made=$(grep -c '"rank":\[' "$recording")
  holds=$("$assay" best --json --db "$recording" | grep -c '"reranked": *true')
  [[ $made -gt 0 && $made -eq $holds ]] ||
    failed "$recording has $made verdicts, of which $holds hold"
done

# The tables that are shipped are those of a recording, or of several that results/best/JOINED names
# and `assay db merge` joins. One recording was left with no verdict: its kernel's hash had been set
# anew for another line break, and that of its candidates had not.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for table in results/best/*/*.json; do
  [[ -e $table ]] || continue  # a tree may have none
  op=$(basename "${table%.*}")
  gpu=$(basename "$(dirname "$table")")
  read -r -a joined < <(sed 's/#.*//' results/best/JOINED 2>/dev/null | grep "^$gpu/$op " | cut -d' ' -f2-)
  joined=("${joined[@]/#/results/recorded/$gpu/}")
  joined=("${joined[@]/%/.jsonl}")
  if [[ ${#joined[@]} -gt 0 ]]; then
    recordings=("$work/$gpu-$op.db")
    [[ -e ${recordings[0]} ]] ||
      "$assay" db merge "${joined[@]}" --output "${recordings[0]}" >/dev/null
  else
    mapfile -t recordings < <(grep -l "\"op\":\"$op\"" results/recorded/"$gpu"/*.jsonl)
  fi
  found=''
  for recording in "${recordings[@]}"; do
    "$assay" export --format json --op "$op" --db "$recording" 2>/dev/null |
      cmp -s - "$table" && found=yes && break
  done
  [[ -n $found ]] ||
    failed "$table is not what assay export --op $op writes of ${joined[*]:-${recordings[*]}}"
done

# The first sweep that anybody runs: without a GPU all of it is answered from its recording.
default=results/recorded/nvidia_h200/gemm.jsonl
if [[ -e $default ]]; then
  asked=$("$assay" list sweeps/gemm.yaml --json | grep -oE '"num_valid": *[0-9]+' | head -1 |
    grep -oE '[0-9]+$')
  recorded=$(sed -nE "s|^$default .* [0-9-]{10} +([0-9,]+) .*|\1|p" <<<"$listed" | tr -d ,)
  grep -q 'cublaslt_best' <("$assay" best --db $default) ||
    failed "$default does not compare its winners with cuBLASLt"
  [[ -n $asked && $asked == "$recorded" ]] ||
    failed "sweeps/gemm.yaml has ${asked:-no} configurations, and $default ${recorded:-no} trials"
fi
[[ $failures -eq 0 ]]
