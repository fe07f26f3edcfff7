// The visible rows of a lane, put together from its pieces: a call that goes over several pieces is one.
import type { Mark } from "../answers";
import type { Axis } from "../format";
import type { Range } from "../state";
import type { Piece, Ready, Tiles } from "./tiles";

export interface Rows {
  depth: number;
  rows: Piece[][];
  marks: Mark[];
  missing: Range[]; // hodo has been asked for these
}

export function level_for(per_pixel: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(per_pixel * 1024, 1))));
}

function cut(piece: Piece, from: number, to: number): Piece {
  if (piece.from >= from && piece.to <= to) return piece;
  return { ...piece, from: Math.max(piece.from, from), to: Math.min(piece.to, to) };
}

function add(row: Piece[], piece: Piece): void {
  const last = row[row.length - 1];
  if (last && !piece.merged && !last.merged && last.moment === piece.moment && last.to >= piece.from) {
    row[row.length - 1] = { ...last, to: Math.max(last.to, piece.to) };
    return;
  }
  row.push(piece);
}

function take(tile: Ready, from: number, to: number, band: number, out: Rows): void {
  out.depth = Math.max(out.depth, tile.depth);
  for (const [depth, pieces] of tile.rows) {
    while (out.rows.length <= depth && depth < 4096) out.rows.push([]);
    const row = out.rows[depth];
    if (!row) continue;
    for (const piece of pieces) {
      if (piece.from >= to) break;
      // What took no time on this axis still happened.
      if (piece.to < from || (piece.to === from && piece.from < from)) continue;
      add(row, cut(piece, from, to));
    }
  }
  for (const mark of band === 0 ? tile.marks : []) if (mark.at >= from && mark.at < to) out.marks.push(mark);
}

export interface Span {
  level: number;
  first: number; // pieces
  last: number;
  bands: number;
}

export function rows_from(tiles: Tiles, thread: string, axis: Axis, seen: Span): Rows {
  const out: Rows = { depth: 0, rows: [], marks: [], missing: [] };
  const size = 2 ** seen.level;
  for (let band = 0; band < seen.bands; ++band) {
    for (let index = seen.first; index <= seen.last; ++index) {
      const from = index * size;
      const exact = tiles.get(thread, axis, seen.level, index, band);
      const tile = exact ?? tiles.above(thread, axis, seen.level, index, band);
      if (tile) take(tile, from, from + size, band, out);
      if (!exact && tiles.refusal(thread, axis, seen.level, index, band) === undefined) {
        out.missing.push({ from, to: from + size });
      }
    }
  }
  return out;
}
