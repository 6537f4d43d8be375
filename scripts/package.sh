#!/usr/bin/env bash
# Makes a tarball that runs on a machine without Python, LibTorch or HDF5: the programs (for the
# CPU), the shared libraries they need but those of the C library and of MPI, and the licences of
# all of them. MPI is the cluster's own: OpenMPI 4.1.
#   scripts/package.sh            build/package/lockstep-VERSION-linux-ARCH-cpu.tar.zst
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$repo"

build_dir=build/package
say "Configuring $build_dir"
cmake --preset release -B "$build_dir" -DLOCKSTEP_CUDA=OFF -DLOCKSTEP_TESTS=OFF \
  -DLOCKSTEP_RELOCATABLE=ON -DCMAKE_INSTALL_LIBDIR=lib >"$build_dir.log" ||
  die "configuring failed (see $build_dir.log)"
build package
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build_dir/CMakeCache.txt")
name=lockstep-$version-linux-$(uname -m)-cpu
stage=$build_dir/$name
rm -rf "$stage"
cmake --install "$build_dir" --prefix "$stage" --strip >>"$build_dir.log"
rm -rf "${stage:?}/include" "${stage:?}/lib"
mkdir -p "$stage/lib" "$stage/licenses"
cp LICENSE "$stage/licenses/lockstep"

# Libraries of the system's C library, of the compiler and of MPI stay those of the machine: they
# must fit its kernel, its launcher and its network.
stays='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+|mpi.*|open-rte|open-pal|pmix|hwloc|event.*|udev|ucp|ucs|uct|ucm|fabric|psm.*|rdmacm|ibverbs|nl-.*|numa|z|zstd|systemd|cap))\.so'
while read -r library path; do
  if [[ $library =~ $stays || ! -e $path ]]; then continue; fi
  cp -L "$path" "$stage/lib/$library"
  # The licence of a library of Debian stands with its package.
  package=$(dpkg -S "$(readlink -f "$path")" 2>/dev/null | head -n 1 | cut -d: -f1 || true)
  if [[ $package ]]; then cp -L "/usr/share/doc/$package/copyright" "$stage/licenses/$package"; fi
done < <(for program in "$build_dir"/bin/*; do ldd "$program"; done | awk '$2 == "=>" {print $1, $3}' | sort -u)

torch=$(sed -n 's/^-- LibTorch .*: //p' "$build_dir.log")
for file in "$torch"/../torch-*.dist-info/{LICENSE,NOTICE,licenses/LICENSE,licenses/NOTICE}; do
  if [[ -e $file ]]; then cp "$file" "$stage/licenses/torch-$(basename "$file")"; fi
done
for folder in "$torch"/../nvidia_cuda_{runtime,cupti}*.dist-info; do
  for file in "$folder"/{License.txt,LICENSE,licenses/License.txt}; do
    if [[ -e $file ]]; then cp "$file" "$stage/licenses/$(basename "$folder" .dist-info)"; fi
  done
done
compgen -G "$stage/licenses/torch-LICENSE" >/dev/null || die "the licence of LibTorch was not found"

# Each must be found in the folder of the tarball, or be one of the machine's.
if env -i LC_ALL=C ldd "$stage"/bin/* | grep -E 'not found|/\.venv|/site-packages/'; then
  die "a program of the tarball needs a library that is not in it (see above)"
fi
tar --zstd -cf "$build_dir/$name.tar.zst" -C "$build_dir" "$name"
say "Made $build_dir/$name.tar.zst ($(du -h "$build_dir/$name.tar.zst" | cut -f1), $(find "$stage/lib" -type f | wc -l) libraries)"
