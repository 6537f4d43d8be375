"""Small folders of pictures for tests: every class has a colour and a stripe of its own under
noise, so that a network can learn them."""

import pathlib

import numpy
from PIL import Image


def picture(label, index, height, width, seed=0):
    """uint8 [height, width, 3], a pure function of its arguments."""
    rng = numpy.random.default_rng([seed, label, index])
    tone = (numpy.array([60, 20, 110]) + numpy.array([67, 131, 29]) * label) % 200
    pixels = rng.integers(0, 56, size=(height, width, 3)) + tone
    column = (label * 2 + 1) % width
    pixels[:, column, :] = 255 - pixels[:, column, :]
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8)


def write_folder(folder, counts, size=16, suffix=".png", seed=0):
    """folder/<class>/<number><suffix>; `counts` maps class names to pictures, or lists numbers for
    classes c0, c1, ...; `size` is an edge or (height, width)."""
    folder = pathlib.Path(folder)
    height, width = (size, size) if isinstance(size, int) else size
    if not isinstance(counts, dict):
        counts = {f"c{i}": n for i, n in enumerate(counts)}
    for label, (name, count) in enumerate(sorted(counts.items())):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            image = Image.fromarray(picture(label, index, height, width, seed))
            if suffix.lower() in (".jpg", ".jpeg"):
                image.save(folder / name / f"{index:05d}{suffix}", format="JPEG", quality=90)
            else:
                image.save(folder / name / f"{index:05d}{suffix}", compress_level=1)
    return folder


def spread(total, classes):
    """`total` pictures over `classes` classes, as evenly as it goes."""
    return [total * (c + 1) // classes - total * c // classes for c in range(classes)]
