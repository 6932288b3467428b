#!/usr/bin/env bash
# Whether each recording in results/recorded is as git says it is: current, or named in
# results/recorded/STALE. Only a GPU can measure a stale one again, so a change of a kernel may leave
# one behind, but not unnoticed. Arguments: the program, the tree.
set -uo pipefail

assay=$1
cd "$2" || exit 1
list=results/recorded/STALE

"$assay" list --recordings
[[ $? -le 1 ]] || exit 1
stale=$("$assay" list --recordings | awk '/^results\/recorded\/.* stale: / {print $1}' | sort)
named=$(sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' $list 2>/dev/null | sort)

failures=0
for recording in $(comm -23 <(echo "$stale") <(echo "$named")); do
  failures=$((failures + 1))
  echo "FAILED: $recording is stale: measure it again on a GPU with scripts/record.sh, or name it in $list"
done
for recording in $(comm -13 <(echo "$stale") <(echo "$named")); do
  failures=$((failures + 1))
  echo "FAILED: $recording is named in $list, but it is not a stale recording"
done
for recording in $(comm -12 <(echo "$stale") <(echo "$named")); do
  echo "$recording is stale, as $list says"
done

# The tables that are shipped are those of a recording, or of two: a kernel for few tokens was measured
# later, and on another GPU of the model. One recording was left with no verdict: its kernel's hash had
# been set anew for another line break, and that of its candidates had not.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for table in results/best/*/*; do
  [[ -e $table ]] || continue  # a tree may have none
  op=$(basename "${table%.*}")
  format=${table##*.}
  is_of() {
    "$assay" export --format "${format/#h/header}" --op "$op" --db "$1" 2>/dev/null |
      cmp -s - "$table"
  }
  mapfile -t recordings < <(grep -l "\"op\":\"$op\"" \
    results/recorded/"$(basename "$(dirname "$table")")"/*.jsonl)
  found=''
  for recording in "${recordings[@]}"; do
    is_of "$recording" && found=yes && break
  done
  for ((i = 0; i < ${#recordings[@]}; i++)); do
    for ((k = i + 1; k < ${#recordings[@]}; k++)); do
      [[ -z $found ]] || break 2
      both=$work/$op-$i-$k.db
      [[ -e $both ]] ||
        "$assay" db merge "${recordings[i]}" "${recordings[k]}" --output "$both" >/dev/null
      is_of "$both" && found=yes
    done
  done
  if [[ -z $found ]]; then
    failures=$((failures + 1))
    echo "FAILED: $table is not what assay export --op $op writes of any recording, or of two"
  fi
done

# The first sweep that anybody runs: without a GPU all of it is answered from its recording.
default=results/recorded/nvidia_h200/gemm.jsonl
if [[ -e $default ]]; then
  number() { grep -oE "\"$1\": *[0-9]+" | head -1 | grep -oE '[0-9]+$'; }
  asked=$("$assay" list sweeps/gemm.yaml --json | number valid)
  recorded=$("$assay" list --recordings --json | grep -A 4 "$default" | number trials)
  if ! grep -q 'cublaslt_best' <("$assay" best --db $default); then
    failures=$((failures + 1))
    echo "FAILED: $default does not compare its winners with cuBLASLt"
  fi
  if [[ -z $asked || $asked != "$recorded" ]]; then
    failures=$((failures + 1))
    echo "FAILED: sweeps/gemm.yaml has ${asked:-no} configurations, and $default ${recorded:-no} trials"
  fi
fi
[[ $failures -eq 0 ]]
