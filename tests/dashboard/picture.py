"""Makes a picture of a page small: 256 colours are enough for one, and take a third of the bytes.

The browser counts and chooses the colours, since it is quick at that; Python writes the file.
"""

import base64
import struct
import zlib
from typing import Final

from playwright.sync_api import Browser

COMMON: Final = 200
"""Of the 256 colours, so many are the most frequent ones; the others are those farthest from all chosen before."""

REDUCE: Final = """async ([encoded, common]) => {
  const blob = await (await fetch(`data:image/png;base64,${encoded}`)).blob();
  const image = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];
  const distance = (one, other) => {
    const [red, green, blue] = parts(one), [r, g, b] = parts(other);
    return 2 * (red - r) ** 2 + 4 * (green - g) ** 2 + 3 * (blue - b) ** 2;
  };
  const ordered = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
  const palette = ordered.slice(0, common);
  const rest = ordered.slice(common);
  const gap = rest.map((colour) => Math.min(...palette.map((chosen) => distance(colour, chosen))));
  while (palette.length < 256 && rest.length > 0) {
    let farthest = 0;
    for (let at = 1; at < rest.length; at += 1) {
      const weight = (index) => gap[index] * Math.sqrt(counts.get(rest[index]));
      if (weight(at) > weight(farthest)) farthest = at;
    }
    if (gap[farthest] === 0) break;
    const chosen = rest[farthest];
    palette.push(chosen);
    for (let at = 0; at < rest.length; at += 1) gap[at] = Math.min(gap[at], distance(rest[at], chosen));
  }
  const nearest = new Map();
  for (const colour of ordered) {
    let best = 0;
    for (let at = 1; at < palette.length; at += 1) {
      if (distance(colour, palette[at]) < distance(colour, palette[best])) best = at;
    }
    nearest.set(colour, best);
  }
  let indices = "";
  for (let at = 0; at < data.length; at += 4) {
    indices += String.fromCharCode(nearest.get((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]));
  }
  return { width: image.width, height: image.height, palette, indices: btoa(indices) };
}"""


def made_small(browser: Browser, png: bytes) -> bytes:
    page = browser.new_page()
    try:
        found = page.evaluate(REDUCE, [base64.b64encode(png).decode(), COMMON])
    finally:
        page.close()
    indices, width, height = base64.b64decode(found["indices"]), found["width"], found["height"]
    # Each row begins with how it was filtered: indices are best left alone.
    rows = b"".join(b"\0" + indices[width * row : width * (row + 1)] for row in range(height))
    colours = b"".join(colour.to_bytes(3) for colour in found["palette"])
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colours),
            _chunk(b"IDAT", zlib.compress(rows, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
