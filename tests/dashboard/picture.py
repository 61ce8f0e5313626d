"""Makes a picture of a page small: 256 colours are enough for one, and take a third of the bytes.

The browser counts and chooses the colours, since it is quick at that; Python writes the file.
"""

import base64
import struct
import zlib
from typing import Final

from playwright.sync_api import Page

COMMON: Final = 200
"""Of the 256 colours, so many are the most frequent ones; the others are those farthest from all chosen before."""

REDUCE: Final = """async ([encoded, common]) => {
  const blob = await (await fetch(`data:image/png;base64,${encoded}`)).blob();
  const image = await createImageBitmap(blob);
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  // Letters have thousands of shades at their edges; four neighbouring ones are one to the eye.
  const shade = (at) => ((data[at] >> 2) << 12) | ((data[at + 1] >> 2) << 6) | (data[at + 2] >> 2);
  const counts = new Uint32Array(1 << 18), exact = new Uint32Array(1 << 18);
  for (let at = 0; at < data.length; at += 4) {
    const found = shade(at);
    if (counts[found] === 0) exact[found] = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
    counts[found] += 1;
  }
  const shades = [...counts.keys()].filter((one) => counts[one] > 0).sort((one, other) => counts[other] - counts[one]);
  const distance = (one, other) => {
    const red = (one >> 16) - (other >> 16), blue = (one & 255) - (other & 255);
    const green = ((one >> 8) & 255) - ((other >> 8) & 255);
    return 2 * red * red + 4 * green * green + 3 * blue * blue;
  };
  const palette = shades.slice(0, common).map((one) => exact[one]);
  const rest = shades.slice(common).map((one) => ({ colour: exact[one], weight: Math.sqrt(counts[one]), gap: 1e9 }));
  for (const one of rest) for (const chosen of palette) one.gap = Math.min(one.gap, distance(one.colour, chosen));
  while (palette.length < 256 && rest.length > 0) {
    const far = rest.reduce((best, one) => (one.gap * one.weight > best.gap * best.weight ? one : best));
    if (far.gap === 0) break;
    palette.push(far.colour);
    for (const one of rest) one.gap = Math.min(one.gap, distance(one.colour, far.colour));
  }
  const nearest = new Uint8Array(1 << 18);
  for (const one of shades) {
    let best = 0;
    for (let at = 1; at < palette.length; at += 1) {
      if (distance(exact[one], palette[at]) < distance(exact[one], palette[best])) best = at;
    }
    nearest[one] = best;
  }
  const indices = new Uint8Array(data.length / 4);
  for (let at = 0; at < data.length; at += 4) indices[at / 4] = nearest[shade(at)];
  let text = "";
  for (let at = 0; at < indices.length; at += 8192) text += String.fromCharCode(...indices.subarray(at, at + 8192));
  return { width: image.width, height: image.height, palette, indices: btoa(text) };
}"""


def made_small(blank: Page, png: bytes) -> bytes:
    """`blank` is a page of nobody's, which lends its canvas."""
    found = blank.evaluate(REDUCE, [base64.b64encode(png).decode(), COMMON])
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
