#!/usr/bin/env bash
# Builds with CUDA and runs what a GPU changes: the unit and MPI tests, and a short training on
# the GPU whose first losses must be those of the CPU. Takes a few minutes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
allow_mpi_as_root

nvidia-smi -L || die "no GPU is at hand (nvidia-smi finds none) - run this on a machine with one"
scripts/setup.sh --tests
configure cuda
build cuda
ctest --test-dir build/cuda --output-on-failure -L "unit|mpi"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=build/cuda/bin
mkdir "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images"
"$bin/pack_images" "$work/images/train" "$work/train"
for device in cpu cuda; do
  say "Training on $device"
  mpirun --oversubscribe -np 1 "$bin/lockstep" train --config configs/quickstart.cfg \
    --run.device "$device" --run.root "$work/runs" --run.name "$device" --run.threads 4 \
    --data.train "$work/train" --train.max_updates 30
done
# The mean training loss of 30 updates from the same weights on the same samples.
python3 - "$work/runs/cpu/metrics.csv" "$work/runs/cuda/metrics.csv" <<'PYTHON'
import csv, sys
cpu, gpu = ([float(r["train_loss"]) for r in csv.DictReader(open(name))] for name in sys.argv[1:])
if not cpu or any(abs(a - b) > 0.02 * a for a, b in zip(cpu, gpu, strict=True)):
    sys.exit(f"the losses differ: {cpu} on the CPU, {gpu} on the GPU")
PYTHON
say "The GPU check passed"
