#!/usr/bin/env bash
# scripts/slurm_sweep.sh on a real Slurm of one machine, with the stand-in GPU. A task is put back
# into the queue while it runs, as by a preemption. Skipped where there is no Slurm, or no root to
# start it.
source "$(dirname "$0")/stand_in.sh"
for program in slurmctld slurmd sbatch munged; do
  command -v $program >/dev/null || PATH=$PATH:/usr/sbin command -v $program >/dev/null ||
    { echo "skipped: no $program here"; exit 77; }
done
[[ $(id -u) == 0 ]] || { echo "skipped: starting Slurm takes root"; exit 77; }
export PATH=$PATH:/usr/sbin

# A cluster of this machine, with files and ports of its own. A task that is put back waits as long
# as credentials last, and Slurm ends it if it is made to start earlier.
node=$(hostname -s)
port=$((20000 + $$ % 12000)) # below those that the kernel gives to others
export SLURM_CONF=$work/slurm.conf
mkdir -p spool state
chmod 755 "$work"
cat >slurm.conf <<CONF
ClusterName=assay
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmctldParameters=idle_on_node_suspend
ReturnToService=2
KillWait=5
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
dd if=/dev/urandom of=munge.key bs=1024 count=1 status=none
chmod 600 munge.key
# Slurm's programs look for the kernels' own libraries, not for the stand-in.
plain() { env -u LD_LIBRARY_PATH "$@"; }
stop() {
  for name in slurmd slurmctld munged; do
    [[ -f $work/$name.pid ]] && kill -9 "$(cat "$work/$name.pid")" 2>/dev/null
  done
  rm -rf "$work"
}
trap stop EXIT
plain munged --key-file="$work/munge.key" --socket="$work/munge.socket" \
  --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munged.seed" \
  --force >output 2>&1 || { echo "skipped: munged does not start here: $(tail -1 output)"; exit 77; }
plain slurmctld >output 2>&1 || { echo "skipped: slurmctld does not start here"; exit 77; }
plain slurmd >output 2>&1 || { echo "skipped: slurmd does not start here"; exit 77; }
for _ in $(seq 100); do
  plain sinfo -h -o %T 2>/dev/null | grep -q '^idle' && break
  sleep 0.2
done
plain sinfo -h -o %T 2>/dev/null | grep -q '^idle' ||
  { echo "skipped: Slurm's node does not come up: $(tail -1 slurmd.log)"; exit 77; }

# The tree as the script needs it.
mkdir build sweeps
ln -s "$assay" build/assay
cp -r "$tree/scripts" scripts
cp -r "$tree/kernels" kernels
cat >sweeps/two.yaml <<YAML
sweep: two
kernels: [vector_add]
problems: [{N: [5000, 7000, 90000]}]
params: {BLOCK: [64, 128, 256, 512], VECTOR: [1], ITEMS: [1]}
measure: {precision: 1%, max_seconds_per_config: 0.3}
rerank: {top: 4, rounds: 6}
YAML
export ASSAY_SLURM_TASK="--device 0"
scripts/slurm_sweep.sh sweeps/two.yaml 2 >output 2>&1 || fail "the script: exit $?"
array=$(sed -nE 's/^job ([0-9]+):.*/\1/p' output)
[[ -n $array ]] || fail "no job was named"

# Preempt the first task once it has measured something. The job that joins waits until it has ended.
for _ in $(seq 600); do
  for database in "$work"/assay-*/share.db; do
    [[ $(sqlite3 "$database" "SELECT count(*) FROM trial WHERE status <> 'running'" 2>/dev/null) -ge 1 ]] &&
      break 2
  done
  sleep 0.1
done
plain scontrol requeue "${array}_1" >output 2>&1 || echo "the first task ended before it was requeued"
for _ in $(seq 600); do
  joined=$(ls results/slurm/two/joined.db 2>/dev/null)
  # An empty queue ends it, and not a squeue that gets no answer.
  jobs=$(plain squeue --noheader --format=%F 2>/dev/null) && [[ -z $jobs ]] && break
  [[ -n $joined ]] && grep -qx "$array" <<<"$jobs" && fail "joined before all tasks had ended"
  sleep 0.2
done
cat results/slurm/two/*.log >output 2>/dev/null
[[ $(sqlite3 results/slurm/two/joined.db 'SELECT count(*) FROM trial') == 12 ]] ||
  fail "the joined database has not every trial"
[[ $(sqlite3 results/slurm/two/joined.db "SELECT count(*) FROM trial WHERE status = 'correct'") == 12 ]] ||
  fail "some trial is not correct"
[[ $(sqlite3 :memory: "SELECT count(*) FROM json_tree(readfile('results/slurm/two/tuned.json'))
  WHERE key = 'time_ns'") -ge 3 ]] || fail "no table was exported"
grep -q '<html' results/slurm/two/report.html || grep -q 'assay was built without' output ||
  fail "no page was written"

expect 2 'Usage: ' "$tree/scripts/slurm_sweep.sh"
expect 2 '' scripts/slurm_sweep.sh sweeps/none.yaml 2
echo "slurm: passed"
