"""The format as data_tools/FORMAT.md states it, read with h5py, numpy, zlib and nothing of ours."""

import json
import re
import zlib

import h5py
import harness
import numpy
import pictures
import pytest
import sets
from PIL import Image


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """(source folder, set) of 3 classes with 23 PNG pictures of 12 x 10 pixels in 3 shards."""
    root = tmp_path_factory.mktemp("format")
    source = pictures.write_folder(root / "in", {"b c": 9, "été": 8, "10": 6}, size=(12, 10))
    sets.pack(source, root / "set", "--shards", 3).ok()
    return source, root / "set"


def shards(folder):
    info = json.loads((folder / "set.json").read_text(encoding="utf-8"))
    for index, entry in enumerate(info["shards"]):
        with h5py.File(folder / entry["file"], "r") as file:
            yield index, entry, info, file


def test_every_sample_is_the_picture_it_names(packed):
    source, folder = packed
    seen = set()
    for _, _, _, file in shards(folder):
        classes = [name.decode("utf-8") for name in file["classes"][...]]
        for image, label, path in zip(file["images"], file["labels"],
                                      file["source_paths"].asstr()[...]):
            assert numpy.array_equal(image, numpy.asarray(Image.open(source / path)))
            assert path.split("/")[0] == classes[label]
            seen.add(path)
    assert seen == {str(p.relative_to(source)) for p in source.rglob("*.png")}


def test_datasets_have_the_stated_types_and_layout(packed):
    for _, entry, info, file in shards(packed[1]):
        n = entry["samples"]
        assert set(file) == {"images", "labels", "checksums", "classes", "source_paths"}
        assert file["images"].shape == (n, 12, 10, 3) and file["images"].dtype == numpy.uint8
        assert file["labels"].shape == (n,) and file["labels"].dtype == numpy.dtype("<i4")
        assert file["checksums"].shape == (n,) and file["checksums"].dtype == numpy.dtype("<u4")
        for name in ("classes", "source_paths"):
            kind = h5py.check_string_dtype(file[name].dtype)
            assert kind is not None and kind.encoding == "utf-8", name
        assert file["source_paths"].shape == (n,)
        assert list(file["classes"].asstr()[...]) == info["classes"]
        for name in file:
            dataset = file[name]
            assert dataset.chunks is None and dataset.compression is None, name
            assert dataset.id.get_create_plist().get_nfilters() == 0, name
            assert dataset.id.get_offset() is not None, name


def test_attributes(packed):
    for index, entry, info, file in shards(packed[1]):
        assert set(file.attrs) == {"format", "format_version", "set_id", "shard_index",
                                   "sample_count", "mean", "std"}
        assert file.attrs["format"] in ("lockstep-shards", b"lockstep-shards")
        assert file.attrs["format_version"] == 1
        assert harness_text(file.attrs["set_id"]) == info["set_id"]
        assert file.attrs["shard_index"] == index
        assert file.attrs["sample_count"] == entry["samples"] == len(file["labels"])
        assert list(file.attrs["mean"]) == info["mean"]
        assert list(file.attrs["std"]) == info["std"]


def harness_text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def test_checksums_are_crc32_of_the_samples(packed):
    for _, _, _, file in shards(packed[1]):
        for image, checksum in zip(file["images"], file["checksums"]):
            assert zlib.crc32(image.tobytes()) == checksum


def test_pictures_lie_where_hdf5_says(packed):
    for _, entry, _, file in shards(packed[1]):
        raw = (packed[1] / entry["file"]).read_bytes()
        offset = file["images"].id.get_offset()
        assert raw[offset:offset + file["images"].size] == file["images"][...].tobytes()


def test_set_json_sums_up_the_shards(packed):
    info = json.loads((packed[1] / "set.json").read_text(encoding="utf-8"))
    contents = sets.Contents(packed[1])
    assert info["format"] == "lockstep-shards" and info["version"] == 1
    assert info["classes"] == ["10", "b c", "été"]
    assert info["samples"] == 23 == len(contents.labels)
    assert [info["height"], info["width"]] == [12, 10]
    assert info["class_counts"] == numpy.bincount(contents.labels, minlength=3).tolist()
    assert [s["file"] for s in info["shards"]] == ["00000.h5", "00001.h5", "00002.h5"]
    values = contents.images.reshape(-1, 3) / 255
    assert numpy.allclose(info["mean"], values.mean(axis=0), atol=1e-12)
    assert numpy.allclose(info["std"], values.std(axis=0), atol=1e-12)
    assert re.fullmatch("[0-9a-f]{32}", info["set_id"])


def test_classes_are_mixed(packed):
    """The order is shuffled: in no shard do the labels stand in sorted blocks."""
    labels = sets.Contents(packed[1]).labels
    assert sorted(labels) != labels.tolist()
    assert numpy.count_nonzero(numpy.diff(labels)) > 5


def test_the_page_names_what_the_files_hold(packed):
    page = (harness.SOURCE / "data_tools" / "FORMAT.md").read_text(encoding="utf-8")
    for _, _, info, file in shards(packed[1]):
        for name in [*file, *file.attrs, *info, *info["shards"][0]]:
            assert f"`{name}`" in page, f"FORMAT.md does not explain {name}"


def test_the_example_of_the_page_runs(packed):
    page = (harness.SOURCE / "data_tools" / "FORMAT.md").read_text(encoding="utf-8")
    code = re.search("```python\n(.*?)```", page, re.DOTALL).group(1)
    space = {}
    exec(code.replace("shards/train", str(packed[1])), space)  # our own page
    assert space["picture"].shape == (12, 10, 3)
    assert space["name"] in ("10", "b c", "été")


def test_hdf5_is_called_through_one_door():
    """Calls of the library stand in the two files of the wrapper alone, counted and checked."""
    call = re.compile(r"\bH5[A-Z]{1,2}[a-z]\w*\s*\(")
    allowed = {"hdf5_call.hpp", "hdf5_file.cpp", "hdf5_read.cpp"}
    found = []
    for root in ("src", "include", "jobs", "data_tools"):
        for path in sorted((harness.SOURCE / root).rglob("*.[ch]pp")):
            if path.name not in allowed and call.search(path.read_text(encoding="utf-8")):
                found.append(str(path.relative_to(harness.SOURCE)))
    assert not found, f"HDF5 is called in {found}"
    for name in ("hdf5_file.cpp", "hdf5_read.cpp"):
        text = (harness.SOURCE / "src" / "data" / name).read_text(encoding="utf-8")
        assert call.search(text), f"{name} calls no HDF5: this test looks at the wrong files"
