#!/usr/bin/env bash
# Configures, links and runs the program with the CUDA toolkit hidden, as on a machine without one:
# the same sources and the same CUDA wheel must give a program for the CPU.
#   scripts/check_no_toolkit.sh                a smoke run
#   scripts/check_no_toolkit.sh --tests LABEL  also the tests whose labels match
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"
allow_mpi_as_root
label=
case "${1:-}" in
  '') ;;
  --tests) label=${2:?--tests needs a regular expression of labels} ;;
  *) die "unknown option $1 (check_no_toolkit.sh knows --tests alone)" ;;
esac

# Without the folders that hold nvcc, and with CMake's own switch: FindCUDAToolkit also looks in
# places of its own.
path=
while IFS= read -r folder; do
  if [[ ! -e $folder/nvcc ]]; then path+=${path:+:}$folder; fi
done < <(tr ':' '\n' <<<"$PATH")
export PATH=$path
unset CUDA_PATH CUDA_HOME CUDACXX CUDAToolkit_ROOT

build_dir=build/no-toolkit
tests=OFF
if [[ $label ]]; then tests=ON; fi
cmake --preset release -B "$build_dir" -DLOCKSTEP_CUDA=AUTO "-DLOCKSTEP_TESTS=$tests" \
  -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON >"$build_dir.log" || die "configuring failed"
grep -q 'Building for the CPU (there is no CUDA toolkit)' "$build_dir.log" ||
  die "the toolkit was not hidden: $(grep '^-- Building' "$build_dir.log")"
if [[ $label ]]; then build no-toolkit; else build no-toolkit lockstep pack_images; fi

if ldd "$build_dir/bin/lockstep" | grep -E 'torch_cuda|libnccl'; then
  die "the program for the CPU needs libraries of CUDA (see above)"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images" --wildcards 'test/*/*0.jpg'
"$build_dir/bin/pack_images" "$work/images/test" "$work/shards"
mpirun --oversubscribe -np 2 "$build_dir/bin/lockstep" train --model.name simple_cnn \
  --data.train "$work/shards" --data.test "$work/shards" --train.epochs 1 --train.max_updates 2 \
  --train.batch_size 16 --run.root "$work/runs" --run.name smoke --run.threads 1
test -e "$work/runs/smoke/metrics.csv" || die "the smoke run left no metrics.csv"

if [[ $label ]]; then
  ctest --test-dir "$build_dir" --output-on-failure -j "$(nproc)" -L "$label"
fi
