"""pack_images: which classes there are and in which order, and several folders at once."""

import harness
import pictures
import pytest
import sets


@pytest.fixture
def numbers(tmp_path):
    """Class folders whose names are numbers."""
    return pictures.write_folder(tmp_path / "in", {"10": 3, "9": 4, "1": 2, "img2": 1, "img10": 1})


def test_order_of_classes(numbers, tmp_path):
    for name, options, wanted in (
            ("default", (), ["1", "10", "9", "img10", "img2"]),
            ("byte", ("--class-order", "byte"), ["1", "10", "9", "img10", "img2"]),
            ("natural", ("--class-order", "natural"), ["1", "9", "10", "img2", "img10"])):
        sets.pack(numbers, tmp_path / name, *options).ok()
        contents = sets.Contents(tmp_path / name)
        assert contents.classes == contents.info["classes"] == wanted
        for path, label in contents.label_of().items():
            assert path.split("/")[0] == wanted[label]
    ids = {name: sets.Contents(tmp_path / name).info["set_id"] for name in ("default", "byte", "natural")}
    assert ids["default"] == ids["byte"] != ids["natural"]


def test_classes_of_a_list(numbers, tmp_path):
    listed = ["img2", "9", "1", "img10", "10"]
    (tmp_path / "list.txt").write_text("\ufeff" + "\r\n".join(listed) + "\r\n\r\n", encoding="utf-8")
    sets.pack(numbers, tmp_path / "set", "--classes", tmp_path / "list.txt").ok()
    contents = sets.Contents(tmp_path / "set")
    assert contents.classes == listed
    for path, label in contents.label_of().items():
        assert path.split("/")[0] == listed[label]


def write_list(tmp_path, *names):
    (tmp_path / "list.txt").write_text("".join(name + "\n" for name in names))
    return ("--classes", tmp_path / "list.txt")


def test_a_list_and_the_folders_name_the_same_classes(numbers, tmp_path):
    out = tmp_path / "set"
    sets.said(sets.pack(numbers, out, *write_list(tmp_path, "1", "9", "10", "img2")), 2, "'img10'",
              "unknown", "--classes")
    missing = write_list(tmp_path, "1", "9", "10", "img2", "img10", "img11")
    sets.said(sets.pack(numbers, out, *missing), 2, "'img11'", "no folder",
              "--allow-empty-classes")
    sets.pack(numbers, out, *missing, "--allow-empty-classes").ok()
    assert sets.Contents(out).info["class_counts"] == [2, 4, 3, 1, 1, 0]


def test_wrong_lists_and_orders(numbers, tmp_path):
    out = tmp_path / "set"
    sets.said(sets.pack(numbers, out, *write_list(tmp_path, "1", "9", "1")), 2, "list.txt",
              "'1' is named twice")
    sets.said(sets.pack(numbers, out, *write_list(tmp_path)), 2, "list.txt", "no class")
    sets.said(sets.pack(numbers, out, "--classes", tmp_path / "nowhere"), 2, "nowhere")
    sets.said(sets.pack(numbers, out, "--classes", tmp_path), 2, "not a regular file")
    (tmp_path / "latin1").write_bytes(b"\xe9t\xe9\n")
    sets.said(sets.pack(numbers, out, "--classes", tmp_path / "latin1"), 2, "UTF-8")
    sets.said(sets.pack(numbers, out, "--class-order", "numeric"), 2, "byte, natural")
    for first, second in ((("--class-order", "byte"), ("--classes", "x")),
                          (("--classes", "x"), ("--classes-from", "y"))):
        sets.said(sets.pack(numbers, out, *first, *second), 2, first[0], second[0], "both given")
    assert not out.exists()


# ---- several folders

def pack(*args):
    return harness.run([harness.program("pack_images"), *args])


@pytest.fixture
def two_disks(tmp_path):
    """disk1/photos and disk2/photos, with files of the same names and with classes of their own."""
    one = pictures.write_folder(tmp_path / "disk1/photos", {"ant": 3, "bee": 2}, seed=1)
    two = pictures.write_folder(tmp_path / "disk2/photos", {"ant": 2, "cat": 4}, seed=2)
    (two / "cat" / "notes.txt").write_text("no picture")
    return one, two


def test_folders_are_merged(two_disks, tmp_path):
    one, two = two_disks
    result = pack(one, two, tmp_path / "set").ok()
    contents = sets.Contents(tmp_path / "set")
    assert contents.classes == ["ant", "bee", "cat"]
    assert contents.info["class_counts"] == [5, 2, 4]
    assert len(set(contents.paths)) == 11
    for root in (one, two):
        place = tmp_path / f"{root.parent.name} alone"
        sets.pack(root, place).ok()
        alone = sets.Contents(place)
        prefix = f"{root.parent.name}/photos/"
        for path, image in alone.by_path().items():
            assert (contents.by_path()[prefix + path] == image).all()
            assert contents.classes[contents.label_of()[prefix + path]] == path.split("/")[0]
    assert "found 12 files = 11 packed + 1 ignored + 0 bad" in result.out
    assert f"{one} (paths begin with disk1/photos/): found 5 files = 5 packed + 0 ignored" in result.out
    assert f"{two} (paths begin with disk2/photos/): found 7 files = 6 packed + 1 ignored" in result.out


def test_bad_pictures_are_counted_where_they_are(two_disks, tmp_path):
    one, two = two_disks
    (two / "ant" / "bad.png").write_text("no picture")
    sets.said(pack(one, two, tmp_path / "set"), 1, str(two / "ant" / "bad.png"))
    result = pack(one, two, tmp_path / "set", "--on-error", "skip", "--threads", 3).ok()
    assert f"{one} (paths begin with disk1/photos/): found 5 files = 5 packed" in result.out
    assert "found 8 files = 6 packed + 1 ignored + 1 bad" in result.out


def test_the_set_depends_on_the_folders_names_not_on_their_order_or_place(two_disks, tmp_path):
    one, two = two_disks
    pack(one, two, tmp_path / "a", "--threads", 1).ok()
    pack(two, one, tmp_path / "b", "--threads", 4).ok()
    assert sets.file_bytes(tmp_path / "a") == sets.file_bytes(tmp_path / "b")
    (tmp_path / "moved").mkdir()
    (tmp_path / "disk1").rename(tmp_path / "moved/disk1")
    (tmp_path / "disk2").rename(tmp_path / "moved/disk2")
    pack(tmp_path / "moved/disk1/photos", tmp_path / "moved/disk2/photos", tmp_path / "c").ok()
    assert sets.file_bytes(tmp_path / "a") == sets.file_bytes(tmp_path / "c")


def test_split_of_several_folders(two_disks, tmp_path):
    pack(*two_disks, tmp_path / "set", "--split", "50/50").ok()
    parts = [sets.Contents(tmp_path / "set" / name) for name in ("train", "test")]
    paths = [path for part in parts for path in part.paths]
    assert len(paths) == len(set(paths)) == 11
    assert all(part.classes == ["ant", "bee", "cat"] for part in parts)


def test_folders_that_do_not_go_together(two_disks, tmp_path):
    one, two = two_disks
    out = tmp_path / "set"
    sets.said(pack(one, one, out), 2, "packed twice")
    sets.said(pack(one.parent, one, out), 2, "lies in")
    (tmp_path / "link").symlink_to(one)
    sets.said(pack(one, tmp_path / "link", out), 2, "link", "packed twice")
    sets.said(pack(one, two, one / "set"), 2, "lies in IN", str(one))
    sets.said(pack(one, two, two / "set"), 2, "lies in IN", str(two))
    sets.said(pack(one, tmp_path / "nowhere", out), 2, "nowhere")
    (tmp_path / "flat").mkdir()
    sets.said(pack(one, tmp_path / "flat", out), 2, "flat", "no class folder")
    assert not out.exists()


def test_an_output_named_first_is_no_output(two_disks, tmp_path):
    """The last place is OUT: whatever stands before it is read, and never written."""
    sets.pack(two_disks[0], tmp_path / "set").ok()
    before = sets.file_bytes(tmp_path / "set")
    sets.said(pack(two_disks[0], tmp_path / "set", tmp_path / "other", "--overwrite"), 2,
              "no class folder")
    assert sets.file_bytes(tmp_path / "set") == before
    assert not (tmp_path / "other").exists()
