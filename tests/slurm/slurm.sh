#!/usr/bin/env bash
# An ablation through a Slurm of its own (a controller, one node and munge, all in a temporary
# folder): its table is, byte for byte, that of a local run.
# usage: slurm.sh PROGRAM SOURCE_DIR
set -euo pipefail
program=$(realpath "$1")
source=$(realpath "$2")
# sbin is not in everybody's PATH.
PATH=$PATH:/usr/sbin:/sbin
for tool in munged mungekey slurmctld slurmd sbatch; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: scripts/build.sh --tests installs it" >&2; exit 1; }
done

work=$(mktemp -d)
daemons=()
finish() {
  local code=$?
  trap - EXIT
  scancel --user="$(id -un)" 2>/dev/null || true
  # The last started goes first: a node says goodbye to its controller.
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do
    kill "${daemons[i]}" 2>/dev/null || true
    wait "${daemons[i]}" 2>/dev/null || true
  done
  if [ "$code" -ne 0 ]; then tail -n 15 "$work"/*.log "$work"/*folder/*.log >&2 || true; fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 1' INT TERM

free_port() {
  local port
  while port=$((20000 + RANDOM % 30000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}
# wait_until SECONDS WHAT COMMAND...
wait_until() {
  local tries=$(($1 * 5)) what=$2
  shift 2
  for ((i = 0; i < tries; ++i)); do
    if "$@"; then return 0; fi
    sleep 0.2
  done
  echo "$what: not in time" >&2
  return 1
}

chmod 700 "$work"
mkdir "$work"/{state,spool}
mungekey --create --keyfile="$work/munge.key"
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
  --pid-file="$work/munge.pid" --seed-file="$work/munge.seed" --num-threads=2 >"$work/munged.log" 2>&1 &
daemons+=($!)
wait_until 10 "munged's socket" test -S "$work/munge.socket"

cat >"$work/slurm.conf" <<END
ClusterName=tapemeasure
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=300
NodeName=node1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=2
PartitionName=test Nodes=node1 Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$work/slurm.conf
slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N node1 -f "$SLURM_CONF" >"$work/slurmd.log" 2>&1 &
daemons+=($!)
node_is_idle() { [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; }
wait_until 40 "the node" node_is_idle

# Names that a careless script would break on.
folder="$work/it's a % folder"
mkdir "$folder"
cd "$folder"
cp "$source/configs/tiny.txt" a.txt
cat >base.yaml <<'END'
data: {text: a.txt, tokenizer: char}
model: {layers: 1, width: 16, heads: 2, context: 16}
trainer: {steps: 20, batch_tokens: 128, evaluate_every: 0, save_every: 10}
END
cat >"the plan.yaml" <<'END'
base: base.yaml
seeds: [1, 2]
arms:
  tuned: {init_from: none, set: [model.position.kind=none, trainer.steps=5]}
  none: {set: [model.position.kind=none]}
  alibi: {set: [model.position.kind=alibi]}
measures:
  at16: {length: 16}
END
export XDG_CACHE_HOME=$work/cache
"$program" ablate "the plan.yaml" --out local --threads 1 2>local.log
# A cell that is finished is not submitted.
"$program" ablate "the plan.yaml" --out "by slurm" --threads 1 --cell alibi/seed-1 2>cell.log
"$program" ablate "the plan.yaml" --out "by slurm" --launcher slurm --jobs 2 >ids 2>submitted.log
[ "$(wc -l <ids)" -eq 3 ] || { echo "3 jobs are wanted (2 arrays, and the table)" >&2; cat ids >&2; exit 1; }
[ "$(cat "by slurm/slurm/depth-0.txt")" = $'none/seed-1\nnone/seed-2\nalibi/seed-2' ]
grep -q '^#SBATCH --array=0-2%2$' "by slurm/slurm/depth-0.sh"
no_jobs() { [ -z "$(squeue --noheader)" ]; }
wait_until 100 "the jobs" no_jobs
for name in table.md table.csv results.json; do
  cmp "local/$name" "by slurm/$name" || { cat "by slurm/slurm/collect.txt" "by slurm/output"/*/* >&2; exit 1; }
done
grep -q '6 of 6 cells finished' "by slurm/slurm/collect.txt"
# With everything done there is nothing to submit.
"$program" ablate "the plan.yaml" --out "by slurm" --launcher slurm >ids 2>again.log
[ ! -s ids ] && grep -q 'nothing to submit' again.log
# What sbatch refuses is said in one line.
rm -r "by slurm/runs/none/seed-2"
code=0
SBATCH_PARTITION=nowhere "$program" ablate "the plan.yaml" --out "by slurm" --launcher slurm >ids 2>refused.log || code=$?
[ "$code" -eq 2 ] && [ ! -s ids ] && [ "$(wc -l <refused.log)" -eq 1 ]
grep -q 'sbatch refuses it: .*nvalid partition' refused.log
echo "Slurm: the table is the local one"
