#!/usr/bin/env bash
# Prints, as a table in Markdown, what the values of a parameter are worth: for each problem of a
# recording the fastest configuration of each value, and its time over the winner's with the 95 %
# interval of their re-rank. `screened` says that it was not among those that were re-ranked.
# Usage: scripts/variants_table.sh RECORDING PARAMETER
set -euo pipefail
cd "$(dirname "$0")/.."

recording=$1 parameter=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/assay import "$recording" --db "$work/x.db" >"$work/log"

echo "| problem | kernel | $parameter | us | over the winner's |"
echo '|---|---|---|---|---|'
sqlite3 "$work/x.db" "
  WITH entries AS (
    SELECT rank.problem_id, kernel, config, median_ns AS ns, ratio_to_best, ratio_low, ratio_high
    FROM rank_entry JOIN rank ON rank.id = rank_id WHERE kernel <> '' AND median_ns IS NOT NULL
    UNION ALL
    SELECT trial.problem_id, kernel.name, config.text,
      timing.median_ns, NULL, NULL, NULL
    FROM trial JOIN timing ON timing.id = timing_id JOIN config ON config.id = config_id
      JOIN kernel ON kernel.id = kernel_id
    WHERE status = 'correct'),
  tails AS (
    SELECT *, substr(',' || config || ',',
      instr(',' || config, ',$parameter=') + length(',$parameter=')) AS tail
    FROM entries WHERE instr(',' || config, ',$parameter=') > 0),
  variants AS (SELECT *, substr(tail, 1, instr(tail, ',') - 1) AS value FROM tails),
  best AS (
    SELECT *, row_number() OVER (
      PARTITION BY problem_id, kernel, value ORDER BY ratio_to_best IS NULL, ns) AS place
    FROM variants)
  SELECT '| ' || problem.text || ' | ' || kernel || ' | ' || value || ' | ' ||
    printf('%.4g', ns / 1e3) || ' | ' ||
    iif(ratio_to_best IS NULL, 'screened', printf('%.3f [%.3f, %.3f]', ratio_to_best, ratio_low,
      ratio_high)) || ' |'
  FROM best JOIN problem ON problem.id = problem_id WHERE place = 1
  ORDER BY problem_id, ratio_to_best IS NULL, ns"
