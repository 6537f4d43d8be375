#!/usr/bin/env bash
# Trains ResNet-18 on CIFAR-10 and evaluates it, on the nodes that Slurm gives.
#
#   sbatch slurm/cifar_resnet.sh                                  # from the top of the clone
#   sbatch slurm/cifar_resnet.sh --train.epochs 100 --optim.lr 0.2  # options of `lockstep train`
#
# Before the first job: build (scripts/setup.sh, cmake --preset release, cmake --build --preset
# release) and pack the pictures into shards/train and shards/test, in a folder that all nodes see.
# Adapt the #SBATCH lines to your cluster, and slurm/site.example.sh for the rest.

#SBATCH --job-name=cifar_resnet
#SBATCH --output=slurm-%x-%j.out
#SBATCH --nodes=2
# One task is one rank. With GPUs: as many tasks per node as GPUs, and the next line with one '#'.
##SBATCH --gpus-per-node=2
#SBATCH --ntasks-per-node=2
# Cores of one rank: they compute on the CPU, or load and augment pictures for its GPU.
#SBATCH --cpus-per-task=4
#SBATCH --time=02:00:00
# Two minutes before the end of its time (or before it is preempted) the job saves, leaves, and is
# put back into the queue. A job that is begun again, for this reason or another, goes on where it
# was: the name of its run is that of the job.
#SBATCH --requeue
#SBATCH --signal=B:USR1@120
# The file of the output goes on, too.
#SBATCH --open-mode=append
# Most clusters want these two as well.
##SBATCH --partition=NAME
##SBATCH --account=NAME

set -euo pipefail

# Slurm runs a copy of this script: the clone is the folder of submission.
cd "${SLURM_SUBMIT_DIR:?submit this script with sbatch}"
if [[ -e slurm/site.sh ]]; then
  # shellcheck source=slurm/site.example.sh
  source slurm/site.sh
fi
launcher=${LAUNCHER:-srun}
bin=${BIN_DIR:-build/release/bin}
threads=${SLURM_CPUS_PER_TASK:-1}
name=${RUN_NAME:-cifar_resnet-$SLURM_JOB_ID}

for needed in "$bin/lockstep" shards/train shards/test; do
  if [[ ! -e $needed ]]; then
    echo "$PWD/$needed is missing (build and pack before you submit) - see the head of $0" >&2
    exit 2
  fi
done

case "$launcher" in
  srun)
    # Steps do not inherit --cpus-per-task since Slurm 22.05, so it is said again.
    launch=(srun --mpi=pmix --cpus-per-task="$threads" --kill-on-bad-exit=1)
    ;;
  mpirun)
    # One rank per task, bound to as many cores as a task has.
    launch=(mpirun -np "$SLURM_NTASKS" --map-by "slot:PE=$threads" --bind-to core)
    ;;
  *)
    echo "LAUNCHER=$launcher is unknown - use srun or mpirun" >&2
    exit 2
    ;;
esac

# Trains, and passes the grace signal on. (wait returns early when a signal comes.)
train() {
  local code=0 step
  "${launch[@]}" "$@" &
  step=$!
  # shellcheck disable=SC2064  # the number of this step
  trap "kill -USR1 $step" USR1
  wait "$step" || code=$?
  # Again for as long as there is something to wait for (127: no such child any more).
  local again=0
  while wait "$step" 2>/dev/null || again=$?; [[ $again -ne 127 ]]; do
    code=$again
    again=0
    kill -0 "$step" 2>/dev/null || break
  done
  trap '' USR1
  return "$code"
}

echo "$(date '+%F %T') job $SLURM_JOB_ID: $SLURM_NTASKS ranks on $SLURM_JOB_NUM_NODES nodes, $threads cores each, by $launcher"
code=0
train "$bin/lockstep" train --config configs/cifar_resnet18.cfg --run.name "$name" \
  --run.resume auto --run.root runs --run.threads "$threads" --data.train shards/train \
  --data.test shards/test "$@" || code=$?
if [[ $code -eq 85 ]]; then
  echo "$(date '+%F %T') job $SLURM_JOB_ID: saved and stopped, back into the queue"
  scontrol requeue "$SLURM_JOB_ID"
  exit 0
elif [[ $code -ne 0 ]]; then
  exit "$code"
fi

# Nothing is left that could be saved: a grace signal is let pass, and evaluation ends in time or not.
trap '' USR1
"${launch[@]}" "$bin/lockstep" evaluate --checkpoint "runs/$name/checkpoints/best" \
  --data.test shards/test --run.threads "$threads"
echo "$(date '+%F %T') job $SLURM_JOB_ID: done, results in $PWD/runs/$name"
