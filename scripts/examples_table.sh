#!/usr/bin/env bash
# Prints what the examples' recordings say as a table in Markdown, one row for each kernel: its
# largest problem, beside its best baseline.
# Usage: scripts/examples_table.sh [RECORDING...]
set -euo pipefail
cd "$(dirname "$0")/.."

[[ $# -gt 0 ]] || set -- results/recorded/nvidia_h200/examples{,_1d}.jsonl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo '| kernel | sizes | us | baseline | us | speed-up [95 % interval] | of roofline |'
echo '|---|---|---|---|---|---|---|'
for recording in "$@"; do
  build/assay best --db "$recording" --json >"$work/best.json"
  # The problems of a kernel are in numeric order.
  sqlite3 :memory: "
    SELECT '| ' || kernel || ' | ' || sizes || ' | ' || us || ' | ' || coalesce(baseline, '-') ||
      ' | ' || coalesce(baseline_us, '-') || ' | ' || coalesce(speedup, '-') || ' | ' ||
      coalesce(roofline, '-') || ' |'
    FROM (SELECT
      best.value ->> '$.kernel' AS kernel, max(best.key) AS last,
      (SELECT group_concat(sizes.key || '=' || sizes.value, ', ')
        FROM json_each(best.value, '$.problem') AS sizes) AS sizes,
      printf('%.4g', (best.value ->> '$.time_ns') / 1e3) AS us,
      best.value ->> '$.baseline.name' AS baseline,
      iif(best.value ->> '$.baseline' IS NULL, NULL,
        printf('%.4g', (best.value ->> '$.baseline.time_ns') / 1e3)) AS baseline_us,
      iif(best.value ->> '$.baseline' IS NULL, NULL,
        printf('%.2f [%.2f, %.2f]', best.value ->> '$.baseline.speedup',
          best.value ->> '$.baseline.speedup_low', best.value ->> '$.baseline.speedup_high')) AS speedup,
      iif(best.value ->> '$.roofline_ratio' IS NULL, NULL,
        printf('%.0f %%', 100 * (best.value ->> '$.roofline_ratio'))) AS roofline
    FROM json_each(readfile('$work/best.json'), '$.best') AS best GROUP BY kernel ORDER BY kernel)"
done
