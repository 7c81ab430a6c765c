#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
#   make_images.py    writes the small JPEG and PNG files beside itself, and their pixels as Pillow reads them
#
# Needs `pip install pillow`.
import json
import pathlib

from PIL import Image

HERE = pathlib.Path(__file__).parent
HEIGHT, WIDTH = 11, 19


def picture():
    """Smooth, so that JPEG changes it little, and different in every direction and channel."""
    image = Image.new("RGB", (WIDTH, HEIGHT))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            image.putpixel((x, y), (10 + 12 * x, 240 - 20 * y, 5 * x + 10 * y))
    return image


def with_alpha(image):
    alpha = Image.new("L", image.size)
    for x in range(WIDTH):
        for y in range(HEIGHT):
            alpha.putpixel((x, y), 255 if x < 10 else 0)
    image.putalpha(alpha)
    return image


rgb = picture()
rgb.save(HERE / "rgb.jpg", quality=95)
rgb.save(HERE / "progressive.jpg", quality=95, progressive=True)
rgb.convert("L").save(HERE / "grey.jpg", quality=95)
rgb.convert("CMYK").save(HERE / "cmyk.jpg", quality=95)
rgb.save(HERE / "rgb.png")
rgb.convert("L").save(HERE / "grey.png")
rgb.quantize(16).save(HERE / "palette.png")
with_alpha(rgb.copy()).save(HERE / "alpha.png")

pixels = {}
for file in sorted([*HERE.glob("*.jpg"), *HERE.glob("*.png")]):
    image = Image.open(file)
    if image.mode == "RGBA":
        image = Image.alpha_composite(Image.new("RGBA", image.size, "black"), image)
    planes = image.convert("RGB").split()
    pixels[file.name] = [list(plane.tobytes()) for plane in planes]
text = ",\n".join(f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in pixels.items())
(HERE / "pixels.json").write_text("{\n" + text + "\n}\n")
