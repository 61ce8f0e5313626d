/** A log as lines of plain text, as many of the newest as a page can hold. */

import type { Schemas } from "~/api/client";

export type Piece = Schemas["LogAnswer"];

export interface Line {
  at: string;
  text: string;
  /** Something is missing here: said by the hub or the daemon, not by the task. */
  isGap: boolean;
}

export interface Log {
  lines: Line[];
  /** Older lines that are not among them. */
  leftOut: number;
}

/** An attempt's log is 5 MiB at most; of many short lines, the newest are those that anybody looks for. */
export const LINES_MAX = 20_000;
const LINE_CHARS_MAX = 4_000;

const GAP = /^\[(?:log cut: |… cut: ).*\]$/;
// Colours and cursor movements, window titles, and the short ones: what a terminal would act upon and a page must not show.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g;
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
// eslint-disable-next-line no-control-regex
const ANY_CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;
const PICTURES = 0x2400;
const DELETE = 0x7f;

/** The newest pieces come last; one holds whole lines. */
export function linesOf(pieces: readonly Piece[]): Log {
  const lines = pieces.flatMap(linesIn);
  const leftOut = Math.max(0, lines.length - LINES_MAX);
  return { lines: leftOut > 0 ? lines.slice(leftOut) : lines, leftOut };
}

/** A piece stays as it is while the log grows, so each is read once. */
const read = new WeakMap<Piece, Line[]>();

function linesIn(piece: Piece): Line[] {
  const known = read.get(piece);
  if (known !== undefined) return known;
  const said = piece.text.replace(/^\n|\r?\n$/g, "").split("\n");
  const lines = said.map((line) => ({ at: piece.at, text: plain(line), isGap: line.startsWith("[") && GAP.test(line) }));
  read.set(piece, lines);
  return lines;
}

/** As a terminal would leave it: without its commands, and of a line that was written over and over the last. */
export function plain(line: string): string {
  // Nearly every line is plain already, and there are thousands.
  if (!ANY_CONTROL.test(line)) return cut(line);
  const bare = line.replace(ESCAPES, "");
  const written = bare.replace(/\r+$/, "");
  const last = written.slice(written.lastIndexOf("\r") + 1);
  return cut(last.replace(CONTROLS, pictureOf));
}

function cut(line: string): string {
  return line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line;
}

function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  return String.fromCharCode(code === DELETE ? PICTURES + 0x21 : PICTURES + code);
}

/** Where the words stand, as indexes of lines. */
export function found(lines: readonly Line[], words: string): number[] {
  if (words === "") return [];
  const sought = words.toLowerCase();
  const at: number[] = [];
  lines.forEach((line, index) => {
    if (line.text.toLowerCase().includes(sought)) at.push(index);
  });
  return at;
}

/** A line in pieces, each found one marked. */
export function marked(text: string, words: string): { text: string; isFound: boolean }[] {
  if (words === "") return [{ text, isFound: false }];
  const [lower, sought] = [text.toLowerCase(), words.toLowerCase()];
  // A letter whose small form is longer would shift what follows; then the line is shown unmarked.
  if (lower.length !== text.length) return [{ text, isFound: false }];
  const pieces: { text: string; isFound: boolean }[] = [];
  let from = 0;
  for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, from)) {
    if (at > from) pieces.push({ text: text.slice(from, at), isFound: false });
    pieces.push({ text: text.slice(at, at + sought.length), isFound: true });
    from = at + sought.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isFound: false });
  return pieces;
}
