#!/usr/bin/env bash
# Brings pictures in class folders from an archive (tar, tar.gz, tar.zst, zip) at a path or URL:
#   scripts/fetch_cifar10.sh PATH_OR_URL DEST
# The archive holds train/CLASS/* and test/CLASS/*, alone or below one folder. DEST appears only
# when all is there and checked; an interrupted call leaves nothing that looks complete.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source_of=${1:?usage: fetch_cifar10.sh PATH_OR_URL DEST}
dest=${2:?usage: fetch_cifar10.sh PATH_OR_URL DEST}
if [[ -e $dest ]]; then die "$dest exists already - move it away or choose another folder"; fi
mkdir -p "$(dirname "$dest")"
work=$(mktemp -d "$(dirname "$dest")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

archive=$source_of
case "$source_of" in
  http://* | https://* | ftp://*)
    archive=$work/download
    say "Downloading $source_of"
    if command -v curl >/dev/null; then
      curl -fL --retry 3 -o "$archive" "$source_of"
    elif command -v wget >/dev/null; then
      wget -q -O "$archive" "$source_of"
    else
      die "curl and wget are both missing - install one, or give the path of a file"
    fi || die "the download of $source_of failed (see above) - try again"
    ;;
esac
if [[ ! -f $archive ]]; then die "$archive is not a file - give the path or URL of an archive"; fi

# By content: names of downloads say little.
mkdir "$work/content"
case "$(head -c 4 "$archive" | od -An -tx1 | tr -d ' \n')" in
  28b52ffd) zstd -dcq "$archive" | tar -x -C "$work/content" ;;
  1f8b*) gzip -dc "$archive" | tar -x -C "$work/content" ;;
  504b0304) unzip -q "$archive" -d "$work/content" ;;
  *) tar -xf "$archive" -C "$work/content" ;;
esac || die "$archive cannot be unpacked (damaged, or no tar or zip archive) - fetch it again"

root=$work/content
if [[ ! -d $root/train ]]; then
  found=$(find "$root" -mindepth 2 -maxdepth 2 -type d -name train | head -1)
  root=$(dirname "${found:-$root/train}")
fi
for part in train test; do
  classes=$(find "$root/$part" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | wc -l)
  if ((classes < 2)); then
    die "the archive has no $part/ with class folders ($classes found) - it must hold train/CLASS/* and test/CLASS/*"
  fi
  pictures=$(find "$root/$part" -mindepth 2 -type f | wc -l)
  if ((pictures == 0)); then die "the class folders in $part/ are empty - fetch the archive again"; fi
  say "$part: $pictures files in $classes classes"
done
mv "$root" "$dest"
say "Ready in $dest"
