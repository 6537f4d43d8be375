#!/usr/bin/env bash
# From a fresh clone to a trained and evaluated model, on the sample of CIFAR-10 in samples/:
# sets up, builds, packs the pictures, trains with mpirun, evaluates. Run it as often as you like.
#   scripts/quickstart.sh [--] [options of lockstep train]
# The options go behind those of configs/quickstart.cfg: --train.epochs 2 takes a quarter of the
# time. It fails when the model has not learned: when it names fewer than QUICKSTART_MIN_ACCURACY
# per cent of the test pictures (default 40; guessing gives 10, two epochs about 50).
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
trap 'rc=$?; ((rc == 0)) || printf "[%s] Quickstart failed (see above)\n" "$(elapsed)" >&2' EXIT

minimum=${QUICKSTART_MIN_ACCURACY:-40}
if ! [[ $minimum =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
  die "QUICKSTART_MIN_ACCURACY is '$minimum' (no number) - give per cent of the test pictures, such as 40"
fi
if [[ ${1:-} == -- ]]; then shift; fi
for option in "$@"; do
  case "$option" in
    -h | --help)
      sed -n '2,/^source/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --run.name* | --run.root* | --data.train* | --data.test*)
      die "$option cannot be given (quickstart.sh sets it) - call lockstep train yourself, as docs/guide.md shows"
      ;;
  esac
done

cd "$repo"
work=build/quickstart
bin=build/release/bin
name=quickstart-$(date +%Y%m%d-%H%M%S)
ranks=$(nproc)
if ((ranks > 4)); then ranks=4; fi
mpi=(mpirun --oversubscribe --bind-to none -np "$ranks")

# Bash runs a trap only between commands: what takes long goes to the background, as a process group
# of its own, so that a signal to this script ends it at once.
child=
watched() {
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  local code=0
  wait "$child" || code=$?
  child=
  return "$code"
}
stop() {
  trap '' HUP INT TERM
  if [[ -n $child ]]; then
    kill -s TERM -- "-$child" 2>/dev/null || true
    wait "$child" || true
  fi
  die "Quickstart was stopped by SIG$1, and with it what it had started"
}

say "Step 1 of 6: set up"
scripts/setup.sh

for signal in HUP INT TERM; do
  # shellcheck disable=SC2064  # the name of this turn
  trap "stop $signal" "$signal"
done

say "Step 2 of 6: build (the first time takes several minutes)"
configure release
watched build release programs

allow_mpi_as_root
train=("$bin/lockstep" train --config configs/quickstart.cfg --run.name "$name" --run.root runs
  --data.train "$work/shards/train" --data.test "$work/shards/test" "$@")
# A misspelt option shows now, not minutes later.
"${train[@]}" --print-config >/dev/null || die "The options given are refused (see above)"

say "Step 3 of 6: unpack the sample pictures"
rm -rf "$work/images"
mkdir -p "$work/images"
zstd -dcq samples/cifar10-sample.tar.zst | tar -x -C "$work/images"

say "Step 4 of 6: pack them into shards"
watched "$bin/pack_images" "$work/images/train" "$work/shards/train" --overwrite
watched "$bin/pack_images" "$work/images/test" "$work/shards/test" --overwrite \
  --classes-from "$work/shards/train"

say "Step 5 of 6: train on $ranks ranks (some minutes on two idle cores)"
watched "${mpi[@]}" "${train[@]}"

say "Step 6 of 6: evaluate the best model"
watched "${mpi[@]}" "$bin/lockstep" evaluate --checkpoint "runs/$name/checkpoints/best" \
  --data.test "$work/shards/test" >"$work/evaluate.log"
cat "$work/evaluate.log"

accuracy=$(sed -n 's/.* top-1 \([0-9.]*\) % .*/\1/p' "$work/evaluate.log")
if [[ -z $accuracy ]]; then die "evaluate printed no accuracy (see above)"; fi
if ! awk -v a="$accuracy" -v b="$minimum" 'BEGIN { exit !(a + 0 >= b + 0) }'; then
  die "The model has not learned: $accuracy % of the test pictures are right, at least $minimum % must be (QUICKSTART_MIN_ACCURACY) - train longer, or look into runs/$name/train.log"
fi
for file in train.log metrics.csv checkpoints/best; do
  if [[ ! -e runs/$name/$file ]]; then die "runs/$name/$file is missing"; fi
done
say "Quickstart done: $accuracy % of the test pictures are right. Results: $repo/runs/$name (train.log, metrics.csv, checkpoints/best)"
