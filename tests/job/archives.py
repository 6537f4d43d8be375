"""Small archives of CIFAR and pairs of IDX files for tests, as Python writes them."""

import gzip
import io
import pathlib
import pickle
import tarfile

import numpy

CIFAR10 = ["airplane", "automobile", "bird"]
FINE, COARSE = ["apple", "bee", "cat", "dog"], ["plant", "animal"]


def pictures(count, seed):
    """uint8 [count, 3, 32, 32]: planes, as CIFAR has them."""
    return numpy.random.default_rng(seed).integers(0, 256, (count, 3, 32, 32)).astype(numpy.uint8)


def labels(count, classes):
    return [(7 * i + i // classes) % classes for i in range(count)]


def cifar10_batches(per_batch=6):
    """name -> (pictures, labels) of the five batches and the test batch."""
    names = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
    return {name: (pictures(per_batch, seed), labels(per_batch, len(CIFAR10)))
            for seed, name in enumerate(names)}


def cifar10_binary(per_batch=6):
    """name -> bytes of every file of the binary version."""
    files = {"batches.meta.txt": "\n".join(CIFAR10).encode() + b"\n\n"}
    for name, (images, wanted) in cifar10_batches(per_batch).items():
        files[name + ".bin"] = b"".join(
            bytes([label]) + image.tobytes() for image, label in zip(images, wanted))
    return files


def cifar10_python(per_batch=6, protocol=None, order="C"):
    """The python version; `protocol` as pickle has it, `order` of the pixels in memory."""
    files = {"batches.meta": pickle.dumps(
        {b"num_cases_per_batch": per_batch, b"label_names": [n.encode() for n in CIFAR10],
         b"num_vis": 3072}, protocol=protocol)}
    for name, (images, wanted) in cifar10_batches(per_batch).items():
        data = numpy.array(images.reshape(len(images), 3072), order=order)
        files[name] = pickle.dumps(
            {b"batch_label": name.encode(), b"labels": wanted, b"data": data,
             b"filenames": [f"{name}_{i}.png".encode() for i in range(len(wanted))]},
            protocol=protocol)
    return files


def cifar100_binary(count=12):
    files = {"fine_label_names.txt": "\n".join(FINE).encode(),
             "coarse_label_names.txt": "\n".join(COARSE).encode()}
    for seed, name in enumerate(("train", "test")):
        fine = labels(count, len(FINE))
        files[name + ".bin"] = b"".join(
            bytes([label // 2, label]) + image.tobytes()
            for image, label in zip(pictures(count, seed), fine))
    return files


def cifar100_python(count=12, protocol=None):
    files = {"meta": pickle.dumps({b"fine_label_names": [n.encode() for n in FINE],
                                   b"coarse_label_names": [n.encode() for n in COARSE]},
                                  protocol=protocol)}
    for seed, name in enumerate(("train", "test")):
        fine = labels(count, len(FINE))
        files[name] = pickle.dumps(
            {b"filenames": [f"{i}.png".encode() for i in range(count)], b"batch_label": b"all",
             b"fine_labels": fine, b"coarse_labels": [label // 2 for label in fine],
             b"data": pictures(count, seed).reshape(count, 3072)}, protocol=protocol)
    return files


def write_archive(path, files, folder="cifar"):
    """A tar.gz as the official ones are: a folder, then its files."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo(folder)
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def write_files(folder, files):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def idx(array):
    """The bytes of an array of unsigned bytes in IDX format."""
    array = numpy.ascontiguousarray(array, dtype=numpy.uint8)
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def write_idx(folder, images, wanted, suffix=""):
    """(images file, labels file), gzip's when the suffix is ".gz"."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    places = folder / f"images-idx{numpy.ndim(images)}-ubyte{suffix}", folder / f"labels-idx1-ubyte{suffix}"
    for place, array in zip(places, (images, wanted)):
        data = idx(numpy.asarray(array))
        place.write_bytes(gzip.compress(data) if suffix == ".gz" else data)
    return places
