#!/usr/bin/env bash
# Builds with CUDA and runs what a GPU changes. Takes a few minutes on a machine with a GPU:
# - the unit and MPI tests
# - the first updates of a training on the GPU against those on the CPU: gradients and losses, in
#   float32 and float64; with two GPUs also on two ranks
# - a failure in the midst of a training on the GPU ends it in time
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
allow_mpi_as_root

gpus=$(nvidia-smi -L) || die "no GPU is at hand (nvidia-smi finds none) - run this on a machine with one"
printf '%s\n' "$gpus"
ranks=$(wc -l <<<"$gpus")
if ((ranks > 2)); then ranks=2; fi
scripts/setup.sh --tests
configure cuda
build cuda
ctest --test-dir build/cuda --output-on-failure -L "unit|mpi"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=build/cuda/bin
python=python3
if [[ -x .venv/bin/python ]]; then python=.venv/bin/python; fi
mkdir "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images"
"$bin/pack_images" "$work/images/train" "$work/train"

updates=5
# NVIDIA's libraries multiply float32 with 10 bits of mantissa (TF32) in convolutions by default:
# that is no rounding error of float32, so it is off here.
export NVIDIA_TF32_OVERRIDE=0

# train NAME NP DEVICE [options]
train() {
  local name=$1 np=$2 device=$3
  shift 3
  mpirun --oversubscribe -np "$np" -x NVIDIA_TF32_OVERRIDE "$bin/lockstep" train \
    --config configs/quickstart.cfg --run.device "$device" --run.root "$work/runs" \
    --run.name "$name" --run.threads 4 --data.train "$work/train" "$@"
}

record() {
  say "Training on $3, $2 rank(s): $1"
  train "$@" --schedule.name constant --schedule.warmup_epochs 0 --train.max_updates "$updates" \
    --record.dir "$work/$1" --record.updates "$updates"
}

compare() {
  "$python" tests/gpu/compare_records.py "$work/$1" "$work/$2" --updates "$updates" "${@:3}" ||
    die "the GPU trains something else than the CPU (see above)"
}

record cpu-float32 1 cpu
record cpu-float64 1 cpu --run.dtype float64
for ((np = 1; np <= ranks; np++)); do
  record "gpu-float32-$np" "$np" cuda
  record "gpu-float64-$np" "$np" cuda --run.dtype float64
  compare cpu-float32 "gpu-float32-$np" --gradients 1e-3 --losses 1e-3
  compare cpu-float64 "gpu-float64-$np" --gradients 1e-9 --losses 1e-9
done

limit=60
say "A failure on the GPU must end the training in $limit s"
rc=0
export -f train
export bin work
timeout -k 5 "$limit" bash -c 'train fault "$@"' bash "$ranks" cuda --fault.point step \
  --fault.step 3 --fault.rank "$((ranks - 1))" </dev/null >"$work/fault.log" 2>&1 || rc=$?
if ((rc != 1)) || ! grep -q "injected failure at step on rank $((ranks - 1))" "$work/fault.log"; then
  cat "$work/fault.log" >&2
  die "the failing training ended with code $rc (124: not in $limit s), not with 1 and its message"
fi
say "The GPU check passed"
