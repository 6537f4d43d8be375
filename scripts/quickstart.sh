#!/usr/bin/env bash
# From a fresh clone to a trained and evaluated model, on the sample of CIFAR-10 in samples/:
# sets up, builds, packs the pictures, trains with mpirun, evaluates. Run it as often as you like.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
trap 'rc=$?; ((rc == 0)) || printf "[%s] Quickstart failed (see above)\n" "$(elapsed)" >&2' EXIT

cd "$repo"
work=build/quickstart
bin=build/release/bin
name=quickstart-$(date +%Y%m%d-%H%M%S)
ranks=$(nproc)
if ((ranks > 4)); then ranks=4; fi
mpi=(mpirun --oversubscribe --bind-to none -np "$ranks")

say "Step 1 of 6: set up"
scripts/setup.sh

say "Step 2 of 6: build (the first time takes several minutes)"
configure release
build release lockstep pack_images

say "Step 3 of 6: unpack the sample pictures"
rm -rf "$work/images"
mkdir -p "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images"

say "Step 4 of 6: pack them into shards"
"$bin/pack_images" "$work/images/train" "$work/shards/train" --overwrite
"$bin/pack_images" "$work/images/test" "$work/shards/test" --overwrite \
  --classes-from "$work/shards/train"

say "Step 5 of 6: train on $ranks ranks"
allow_mpi_as_root
"${mpi[@]}" "$bin/lockstep" train --config configs/quickstart.cfg --run.name "$name" \
  --run.root runs --data.train "$work/shards/train" --data.test "$work/shards/test"

say "Step 6 of 6: evaluate the best model"
"${mpi[@]}" "$bin/lockstep" evaluate --checkpoint "runs/$name/checkpoints/best" \
  --data.test "$work/shards/test"

say "Quickstart done. Results: $repo/runs/$name (train.log, metrics.csv, checkpoints/best)"
