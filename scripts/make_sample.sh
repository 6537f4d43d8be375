#!/usr/bin/env bash
# Makes samples/cifar10-sample.tar.zst from an archive of all 60,000 pictures as class folders:
#   scripts/make_sample.sh cifar10-images.tar.zst
# Takes every fifth file of each class by name (1,000 for training, 200 for testing); the same
# input gives the same bytes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

archive=${1:?usage: make_sample.sh ARCHIVE}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/all"
tar -xf "$archive" -C "$work/all"

for folder in "$work"/all/{train,test}/*/; do
  find "$folder" -type f -printf '%P\n' | LC_ALL=C sort | awk 'NR % 5 == 1' |
    sed "s|^|${folder#"$work/all/"}|"
done >"$work/names"

output=$repo/samples/cifar10-sample.tar.zst
tar -c -C "$work/all" --format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0644 \
  -T "$work/names" | zstd -q -19 --long=23 --single-thread -o "$output" -f
say "$(wc -l <"$work/names") pictures in $output ($(stat -c %s "$output") bytes)"
