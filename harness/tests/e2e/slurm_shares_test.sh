#!/usr/bin/env bash
# scripts/slurm_sweep.sh with a stand-in for Slurm that runs each job at once: shares that did not
# end are named, on whatever path.
source "$(dirname "$0")/stand_in.sh"

mkdir build sweeps bin
ln -s "$assay" build/assay
cp -r "$tree/scripts" "$tree/kernels" .
# SKIPPED: a share whose node died.
cat >bin/sbatch <<'SBATCH'
#!/usr/bin/env bash
for word in "$@"; do case $word in --array=1-*) last=${word#--array=1-} ;; esac; done
for ((task = 1; task <= ${last:-1}; ++task)); do
  [[ -n ${last:-} && $task == "${SKIPPED:-}" ]] && continue
  SLURM_ARRAY_TASK_ID=$task sh -c "${@: -1}" >>jobs.log 2>&1
done
echo 7
SBATCH
chmod +x bin/sbatch
export PATH=$work/bin:$PATH ASSAY_SLURM_TASK="--device 0" LC_ALL=C
name="zwei's größte"
cat >"sweeps/$name.yaml" <<YAML
sweep: two
kernels: [vector_add]
problems: [{N: [5000, 7000]}]
params: {BLOCK: [64, 128], VECTOR: [1], ITEMS: [1]}
rerank: {rounds: 6}
YAML
folder="results/slurm/$name"
trials() { sqlite3 "$folder/joined.db" 'SELECT count(*) FROM trial'; }

# One share of two was joined with exit 0 and without a word.
SKIPPED=2 scripts/slurm_sweep.sh "sweeps/$name.yaml" 2 >output 2>&1 || fail "the script: exit $?"
scripts/slurm_sweep.sh --join "$folder" >output 2>&1 && fail "one share of two is joined with exit 0"
grep -q 'of 2 shares these are missing or did not end: 2;' output || fail "the missing share is not named"
[[ $(trials) == 2 ]] || fail "what is there is not joined"

scripts/slurm_sweep.sh "sweeps/$name.yaml" 2 >output 2>&1 || fail "the script again: exit $?"
grep -q ' 0 now, 2 kept' jobs.log || fail "the share that had ended is measured again"
scripts/slurm_sweep.sh --join "$folder" >output 2>&1 || fail "two shares are not joined: exit $?"
[[ $(trials) == 4 ]] || fail "the joined database has $(trials) trials"
[[ -z $(ls -d "$work"/assay-*/ 2>/dev/null) ]] || fail "databases are left on the node's disk"

rm "$folder/shares"
scripts/slurm_sweep.sh --join "$folder" >output 2>&1 && fail "shares of an unknown number are joined"
grep -q 'shares, which says how many shares there are' output || fail "an unknown number is not said"
echo ok
