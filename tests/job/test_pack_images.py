"""pack_images: trees of folders, every picture case, every option, and what it refuses."""

import json
import os

import harness
import numpy
import pictures
import pytest
import sets
from PIL import Image, ImageOps


@pytest.fixture
def source(tmp_path):
    """30 PNG pictures of 16 x 16 pixels in 3 classes."""
    return pictures.write_folder(tmp_path / "in", {"ant": 14, "bee": 10, "cat": 6})


def counts(result):
    """(packed, ignored, bad) of the summary; checks that they add up."""
    line = next(l for l in result.out.splitlines() if l.startswith("found "))
    words = line.replace("+", " ").replace("=", " ").split()
    found, packed, ignored, bad = (int(words[i]) for i in (1, 3, 5, 7))
    assert found == packed + ignored + bad, line
    return packed, ignored, bad


# ---- folders

def tree(name):
    return sets.cases() / "tree" / name


@pytest.mark.parametrize("name", ["numeric_classes", "splits/train", "clutter", "nested", "names"])
@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_shared_trees(name, language, tmp_path):
    wanted = json.loads((sets.cases() / "tree_expected.json").read_text())[name]
    result = sets.pack(tree(name), tmp_path / "set", env={"LC_ALL": language}).ok()
    assert counts(result) == (wanted["packed"], wanted["ignored"], 0)
    contents = sets.Contents(tmp_path / "set")
    assert contents.classes == contents.info["classes"] == wanted["classes"]
    assert len(contents.paths) == wanted["packed"]
    assert all((tree(name) / path).is_file() for path in contents.paths)
    for path, label in contents.label_of().items():
        assert path.split("/")[0] == contents.classes[label]


def test_classes_from_another_set(tmp_path):
    wanted = json.loads((sets.cases() / "tree_expected.json").read_text())["splits/val"]
    sets.pack(tree("splits/train"), tmp_path / "train").ok()
    from_train = ("--classes-from", tmp_path / "train")
    sets.pack(tree("splits/val"), tmp_path / "val", *from_train).ok()
    contents = sets.Contents(tmp_path / "val")
    assert contents.classes == wanted["classes"]
    assert sorted(contents.labels.tolist()) == wanted["labels"]
    assert contents.info["class_counts"] == [0, 1, 1]
    sets.said(sets.pack(tree("splits/val_unknown_class"), tmp_path / "bad", *from_train), 2,
              "'d'", "--classes-from")
    sets.said(sets.pack(tree("splits/val"), tmp_path / "bad", "--classes-from", tmp_path), 2,
              str(tmp_path), "set.json")
    assert not (tmp_path / "bad").exists()


def test_empty_class(tmp_path):
    sets.said(sets.pack(tree("empty_class"), tmp_path / "set"), 2, "only_text",
              "--allow-empty-classes")
    result = sets.pack(tree("empty_class"), tmp_path / "set", "--allow-empty-classes").ok()
    assert counts(result) == (1, 1, 0)
    assert sets.Contents(tmp_path / "set").info["class_counts"] == [1, 0]


def test_a_class_of_bad_pictures_alone(source, tmp_path):
    (source / "dog").mkdir()
    (source / "dog" / "x.png").write_text("no picture")
    skip = ("--on-error", "skip")
    sets.said(sets.pack(source, tmp_path / "set", *skip), 1, "'dog'", "--allow-empty-classes")
    result = sets.pack(source, tmp_path / "set", *skip, "--allow-empty-classes").ok()
    assert counts(result) == (30, 0, 1)
    assert sets.Contents(tmp_path / "set").info["class_counts"] == [14, 10, 6, 0]


# ---- pictures

def test_pictures_are_known_by_content_whatever_the_suffix(source, tmp_path):
    image = Image.fromarray(pictures.picture(0, 99, 16, 16))
    for name, kind in (("plain", "PNG"), ("photo.jpg_large", "JPEG"), ("x.PNG.txt", "PNG"),
                       ("wrong.png", "JPEG"), ("wrong.jpeg", "PNG")):
        image.save(source / "ant" / name, format=kind)
    for name, kind in (("web", "WEBP"), ("paint.bin", "BMP"), ("moving", "GIF")):
        image.save(source / "ant" / name, format=kind)
    (source / "ant" / "notes.txt").write_text("JPEG and PNG")
    (source / "ant" / "cut").write_bytes(b"\x89PNG")
    result = sets.pack(source, tmp_path / "set").ok()
    assert counts(result) == (35, 5, 0)
    assert "ignored 5: no picture's suffix, and neither JPEG nor PNG inside" in result.out
    packed = sets.Contents(tmp_path / "set").by_path()
    for name in ("plain", "photo.jpg_large", "x.PNG.txt", "wrong.png", "wrong.jpeg"):
        off = numpy.abs(packed[f"ant/{name}"].astype(int) - numpy.asarray(image)).mean()
        assert off < 30, name
    assert (packed["ant/plain"] == numpy.asarray(image)).all()


def test_a_damaged_picture_without_a_suffix_is_bad(source, tmp_path):
    (source / "ant" / "broken").write_bytes((source / "ant" / "00000.png").read_bytes()[:60])
    sets.said(sets.pack(source, tmp_path / "set"), 1, "ant/broken", "damaged PNG")
    result = sets.pack(source, tmp_path / "set", "--on-error", "skip").ok()
    assert counts(result) == (30, 0, 1)


def case_folder(tmp_path, names):
    (tmp_path / "cases" / "all").mkdir(parents=True)
    for name in names:
        (tmp_path / "cases" / "all" / name).symlink_to(sets.cases() / "decode" / name)
    return tmp_path / "cases"


def expected_cases():
    return json.loads((sets.cases() / "decode_expected.json").read_text())


def unsupported(name):
    return name.endswith((".webp", ".bmp", ".ppm", ".tiff"))


def test_shared_pictures(tmp_path):
    """Quadrant by quadrant, after stretching to 20 x 40 (the size most of them have)."""
    expected = expected_cases()
    folder = case_folder(tmp_path, expected)
    result = sets.pack(folder, tmp_path / "set", "--size", "20x40", "--fit", "stretch",
                       "--on-error", "skip").ok()
    good = {n: e for n, e in expected.items() if "expect" not in e and not unsupported(n)}
    assert counts(result) == (len(good), 0, len(expected) - len(good))
    packed = sets.Contents(tmp_path / "set").by_path()
    assert set(packed) == {f"all/{name}" for name in good}
    for name, wanted in good.items():
        image = packed[f"all/{name}"].astype(float)
        quadrants = [image[y:y + 10, x:x + 20].mean(axis=(0, 1)) for y in (0, 10) for x in (0, 20)]
        off = numpy.abs(numpy.array(quadrants) - wanted["quadrant_rgb"]).max()
        assert off <= wanted["tolerance"], f"{name} is off by {off}"
    for name in set(expected) - set(good):
        assert f"all/{name}" in result.out, f"{name} is not in the summary"
    for kind in ("WebP", "BMP", "PNM", "TIFF"):
        assert f"bad 1: {kind} is not supported here" in result.out


def test_each_bad_picture_stops_packing_by_default(tmp_path):
    words = {"truncated.jpg": "damaged JPEG", "truncated.png": "damaged PNG",
             "bad_crc.png": "damaged PNG", "empty.jpg": "empty file", "text.jpg": "not a picture",
             "picture.webp": "WebP", "picture.bmp": "BMP", "picture.ppm": "PNM",
             "picture.tiff": "TIFF"}
    refused = {n for n, e in expected_cases().items() if "expect" in e or unsupported(n)}
    assert refused == set(words)
    for name, word in words.items():
        folder = case_folder(tmp_path / name, [name])
        sets.said(sets.pack(folder, tmp_path / name / "set"), 1, f"all/{name}", word)
        assert [p.name for p in (tmp_path / name).iterdir()] == ["cases"]


def test_every_orientation_as_pillow_sees_it(tmp_path):
    (tmp_path / "in" / "a").mkdir(parents=True)
    picture = Image.fromarray(pictures.picture(1, 2, 10, 14))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture.save(tmp_path / "in" / "a" / f"{orientation}.png", exif=exif)
        picture.save(tmp_path / "in" / "a" / f"{orientation}.jpg", exif=exif, quality=95)
    sets.pack(tmp_path / "in", tmp_path / "set", "--size", "24x24", "--fit", "pad").ok()
    for path, image in sets.Contents(tmp_path / "set").by_path().items():
        seen = ImageOps.exif_transpose(Image.open(tmp_path / "in" / path)).convert("RGB")
        height, width = (24, 17) if seen.height > seen.width else (17, 24)
        wanted = numpy.asarray(seen.resize((width, height), Image.BILINEAR)).astype(int)
        top, left = (24 - height) // 2, (24 - width) // 2
        off = numpy.abs(image[top:top + height, left:left + width] - wanted).max()
        assert off <= 2, f"{path} is off by {off}"


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
@pytest.mark.parametrize("progressive", [False, True])
def test_jpeg_pixels_equal_pillows(mode, progressive, tmp_path):
    """The same library decodes both; CMYK is converted by ours and by theirs."""
    (tmp_path / "in" / "a").mkdir(parents=True)
    path = tmp_path / "in" / "a" / "x.jpg"
    Image.fromarray(pictures.picture(1, 1, 33, 47)).convert(mode).save(
        path, quality=90, progressive=progressive)
    sets.pack(tmp_path / "in", tmp_path / "set").ok()
    wanted = numpy.asarray(Image.open(path).convert("RGB")).astype(int)
    off = numpy.abs(sets.Contents(tmp_path / "set").images[0] - wanted).max()
    assert off <= (2 if mode == "CMYK" else 1)


# ---- size

def wanted_by_pillow(image, height, width, fit, background):
    """The documented geometry, with Pillow's filter."""
    if fit == "stretch":
        return image.resize((width, height), Image.BILINEAR)
    factors = (height / image.height, width / image.width)
    factor = max(factors) if fit == "crop" else min(factors)
    scaled = image.resize((max(1, int(image.width * factor + 0.5)),
                           max(1, int(image.height * factor + 0.5))), Image.BILINEAR)
    if fit == "crop":
        left, top = (scaled.width - width) // 2, (scaled.height - height) // 2
        return scaled.crop((left, top, left + width, top + height))
    canvas = Image.new("RGB", (width, height), background)
    canvas.paste(scaled, ((width - scaled.width) // 2, (height - scaled.height) // 2))
    return canvas


@pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("size", [(32, 32), (17, 40), (90, 61)])
def test_resizing_equals_pillow(fit, size, tmp_path):
    (tmp_path / "in" / "a").mkdir(parents=True)
    for index, shape in enumerate([(50, 80), (80, 50), (33, 33), (7, 300), (64, 1)]):
        Image.fromarray(pictures.picture(1, index, *shape)).save(tmp_path / f"in/a/{index}.png")
    sets.pack(tmp_path / "in", tmp_path / "set", "--size", f"{size[0]}x{size[1]}", "--fit", fit,
              "--background", "9,80,200").ok()
    for path, image in sets.Contents(tmp_path / "set").by_path().items():
        original = Image.open(tmp_path / "in" / path)
        wanted = numpy.asarray(wanted_by_pillow(original, *size, fit, (9, 80, 200))).astype(int)
        assert numpy.abs(image - wanted).max() <= 1, path


def test_pictures_of_several_sizes_need_a_size(source, tmp_path):
    Image.fromarray(pictures.picture(0, 0, 9, 8)).save(source / "ant" / "odd.png")
    line = sets.said(sets.pack(source, tmp_path / "set"), 2, "--size", "ant/odd.png", "9x8",
                     "16x16")
    assert line.count(".png") == 2, "both pictures are named"
    assert not (tmp_path / "set").exists()
    sets.pack(source, tmp_path / "set", "--size", 8).ok()
    assert sets.Contents(tmp_path / "set").images.shape == (31, 8, 8, 3)


def test_background_shows_through(tmp_path):
    (tmp_path / "in" / "a").mkdir(parents=True)
    Image.new("RGBA", (4, 4), (200, 100, 50, 0)).save(tmp_path / "in" / "a" / "x.png")
    for options, wanted in (((), [0, 0, 0]), (("--background", "1,20,255"), [1, 20, 255])):
        sets.pack(tmp_path / "in", tmp_path / "set", "--overwrite", *options).ok()
        assert (sets.Contents(tmp_path / "set").images == wanted).all()


# ---- order, shards, threads

def test_any_number_of_threads_makes_the_same_bytes(source, tmp_path):
    for index in range(300):  # more than wait at once
        Image.fromarray(pictures.picture(3, index, 16, 16)).save(source / "bee" / f"x{index}.png")
    (source / "ant" / "bad.png").write_text("no picture")
    made = []
    for threads in (1, 2, 8):
        sets.pack(source, tmp_path / f"set{threads}", "--threads", threads, "--shards", 3,
                  "--on-error", "skip").ok()
        made.append(sets.file_bytes(tmp_path / f"set{threads}"))
    assert len(made[0]) == 4
    assert made[0] == made[1] == made[2]


def test_the_first_bad_picture_in_order_is_named_whatever_the_threads(source, tmp_path):
    for name in ("ant/0.png", "bee/0.png", "cat/0.png"):
        (source / name).write_text("no picture")
    lines = {sets.said(sets.pack(source, tmp_path / "set", "--threads", t), 1, "not a picture")
             for t in (1, 2, 8) for _ in range(3)}
    assert len(lines) == 1


def test_seed_changes_the_order_alone(source, tmp_path):
    for name, options in (("a", ()), ("b", ("--seed", "0")), ("c", ("--seed", "7"))):
        sets.pack(source, tmp_path / name, *options).ok()
    a, b, c = (sets.Contents(tmp_path / n) for n in "abc")
    assert a.paths == b.paths != c.paths
    assert sorted(a.paths) == sorted(c.paths)
    assert a.info["set_id"] == b.info["set_id"] != c.info["set_id"]
    assert a.info["mean"] == c.info["mean"]


def test_number_and_size_of_shards(source, tmp_path):
    for options, wanted in ((("--shards", 4), [7, 8, 7, 8]), (("--shard-size", 12), [10, 10, 10]),
                            (("--shard-size", 30), [30]), ((), [30])):
        sets.pack(source, tmp_path / "set", "--overwrite", *options).ok()
        info = sets.Contents(tmp_path / "set").info
        assert [shard["samples"] for shard in info["shards"]] == wanted, options
    sets.said(sets.pack(source, tmp_path / "no", "--shards", 31), 1, "31", "30 pictures")
    sets.said(sets.pack(source, tmp_path / "no", "--shards", 2, "--shard-size", 3), 2, "--shards")


def test_one_set_differs_from_another_in_its_id(source, tmp_path):
    ids = set()
    for number, options in enumerate([(), ("--size", 8), ("--size", 8, "--fit", "pad"),
                                      ("--shards", 2), ("--background", "1,1,1")]):
        sets.pack(source, tmp_path / f"{number}", *options).ok()
        ids.add(sets.Contents(tmp_path / f"{number}").info["set_id"])
    assert len(ids) == 5


# ---- split

def test_split_into_three(source, tmp_path):
    result = sets.pack(source, tmp_path / "set", "--split", "60/20/20").ok()
    assert counts(result) == (30, 0, 0)
    parts = {n: sets.Contents(tmp_path / "set" / n) for n in ("train", "val", "test")}
    together = [path for part in parts.values() for path in part.paths]
    assert len(together) == len(set(together)) == 30
    for part in parts.values():
        assert part.classes == ["ant", "bee", "cat"]
    assert parts["train"].info["class_counts"] == [8, 6, 4]
    assert parts["val"].info["class_counts"] == [3, 2, 1]
    assert parts["test"].info["class_counts"] == [3, 2, 1]
    sets.pack(source, tmp_path / "again", "--split", "60/20/20").ok()
    sets.pack(source, tmp_path / "other", "--split", "60/20/20", "--seed", 5).ok()
    assert sets.Contents(tmp_path / "again" / "val").paths == parts["val"].paths
    assert set(sets.Contents(tmp_path / "other" / "val").paths) != set(parts["val"].paths)


def test_split_into_two_and_wrong_splits(source, tmp_path):
    sets.pack(source, tmp_path / "set", "--split", "80/20").ok()
    assert sorted(p.name for p in (tmp_path / "set").iterdir()) == ["test", "train"]
    shares = "--split {}: 77.8 % train and 22.2 % test\n"
    assert shares.format("70/20") in sets.pack(source, tmp_path / "b", "--split", "70/20").ok().out
    three = sets.pack(source, tmp_path / "c", "--split", "6/2/2").ok().out
    assert "--split 6/2/2: 60.0 % train, 20.0 % val and 20.0 % test\n" in three
    for i, text in enumerate(("70/30", "0.7/0.2/0.1")):
        assert "--split" not in sets.pack(source, tmp_path / f"d{i}", "--split", text).ok().out
    for text in ("80", "80/0", "1/2/3/4", "a/b", "80//20", "-1/2", "1e308/1e308", ""):
        sets.said(sets.pack(source, tmp_path / "no", "--split", text), 2, "--split")
    sets.said(sets.pack(source, tmp_path / "no", "--split", "1000/1/1000"), 1, "val", "empty")
    assert not (tmp_path / "no").exists()


def test_split_leaves_no_class_untrained(tmp_path):
    pictures.write_folder(tmp_path / "in", {"many": 40, "two": 2}, 8, ".png", 0)
    sets.said(sets.pack(tmp_path / "in", tmp_path / "out", "--split", "10/90"), 1, "two", "train")
    assert not (tmp_path / "out").exists()
    sets.pack(tmp_path / "in", tmp_path / "out", "--split", "10/90", "--allow-empty-classes").ok()


# ---- use

def test_help_and_wrong_use(source, tmp_path):
    text = sets.pack("--help", "--size").failed(2)
    text = harness.run([harness.program("pack_images"), "--help"]).ok().out
    for option in ("size", "fit", "background", "class-order", "classes", "classes-from", "split",
                   "shard-size", "shards", "threads", "seed", "on-error", "allow-empty-classes",
                   "overwrite", "version"):
        assert f"--{option} " in text
    for option in ("--size N|HxW", "--split A/B/C|A/B", "--classes FILE", "--on-error fail|skip"):
        assert f"  {option} " in text
    assert " ..." not in text.replace(" IN...", "")
    out = tmp_path / "set"
    for options, words in [
            (("--sise", 3), ["did you mean --size?"]), (("--size", "10k"), ["--size", "10k"]),
            (("--size", 0), ["--size", "0"]), (("--size", "48x"), ["--size '48x'"]),
            ((f"--classes=~/names",), ["~/names", "not expanded"]), (("--fit", "pad"), ["--fit", "--size"]),
            (("--size", 8, "--fit", "padd"), ["did you mean pad?"]),
            (("--background", "red"), ["--background", "red"]),
            (("--background", "1,2"), ["--background"]), (("--threads", 0), ["--threads"]),
            (("--shard-size", 0), ["--shard-size"]), (("--seed", -1), ["--seed"]),
            (("--on-error", "ignore"), ["--on-error", "skip"])]:
        sets.said(sets.pack(source, out, *options), 2, *words)
    sets.said(harness.run([harness.program("pack_images"), source]), 2, "OUT")
    sets.said(sets.pack(tmp_path / "nowhere", out), 2, "nowhere")
    sets.said(sets.pack(source / "ant", out), 2, "no class folder")
    sets.said(sets.pack(source, source / "ant" / "set"), 2, "lies in IN")
    assert sorted(os.listdir(tmp_path)) == ["in"]
