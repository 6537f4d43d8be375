#!/usr/bin/env bash
# Builds with MPICH beside Open MPI, which stays what mpirun means, and runs collectives, a training,
# a stop and a failure with it. Open MPI's launcher has to be refused.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
allow_mpi_as_root
missing="MPICH is not installed (there is no mpicxx.mpich or mpirun.mpich) - scripts/setup.sh --tests does it"
compiler=$(command -v mpicxx.mpich) || die "$missing"
mpirun=$(command -v mpirun.mpich) || die "$missing"
if mpirun --version | grep -qi hydra; then
  die "mpirun is MPICH's (the tests need Open MPI's) - update-alternatives --set mpirun /usr/bin/mpirun.openmpi, and the same for mpi"
fi

build_dir=build/mpich
cmake --preset release -B "$build_dir" -DLOCKSTEP_CUDA=OFF "-DMPI_CXX_COMPILER=$compiler" \
  "-DMPIEXEC_EXECUTABLE=$mpirun" >"$build_dir.log" || die "configuring failed (see $build_dir.log)"
build mpich mpi_comm lockstep pack_images
bin=$build_dir/bin
linked=$(ldd "$bin/lockstep")
if [[ $linked != *libmpich* || $linked == *libmpi.so* ]]; then
  die "the program is not linked to MPICH alone: $(grep mpi <<<"$linked")"
fi
"$bin/lockstep" --version | grep MPICH
ctest --test-dir "$build_dir" --output-on-failure -R '^mpi_comm_np3$'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images" --wildcards 'test/*/*0.jpg'
"$bin/pack_images" "$work/images/test" "$work/shards"
train=("$bin/lockstep" train --model.name simple_cnn --data.train "$work/shards" --train.epochs 1
  --train.batch_size 16 --train.max_updates 4 --run.root "$work/runs" --run.threads 1)
export OMP_NUM_THREADS=1

# refuses CODE WORDS COMMAND...: it ends with this exit code and says these words.
refuses() {
  local code=$1 words=$2 rc=0
  shift 2
  timeout 60 "$@" >"$work/out" 2>&1 || rc=$?
  if ((rc != code)) || ! grep -q "$words" "$work/out"; then
    cat "$work/out" >&2
    die "wanted exit code $code and '$words', got $rc"
  fi
}

"$mpirun" -np 2 "${train[@]}" --run.name first
[[ $(wc -l <"$work/runs/first/metrics.csv") == 2 ]] || die "the training left no row of metrics"
refuses 85 'saved after 2 updates' "$mpirun" -np 2 "${train[@]}" --run.name second --train.stop_after_updates 2
refuses 1 'rank 1: injected failure' "$mpirun" -np 2 "${train[@]}" --run.name third \
  --fault.point step --fault.rank 1
refuses 2 'the launcher started 2 tasks' mpirun --oversubscribe -np 2 "${train[@]}" --run.name fourth
say "MPICH: built, trained on 2 ranks, failed in order"
