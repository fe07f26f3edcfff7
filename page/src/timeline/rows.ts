// The visible rows of a lane, put together from its pieces: a call that goes over several pieces is one.
import type { Mark } from "../answers";
import type { Axis } from "../format";
import type { Range } from "../state";
import { Slices } from "./slices";
import type { Ready, Tiles } from "./tiles";

export interface Rows {
  depth: number;
  rows: Slices[];
  marks: Mark[];
  missing: Range[]; // hodo has been asked for these
}

export function level_for(per_pixel: number): number {
  return Math.max(0, Math.floor(Math.log2(Math.max(per_pixel * 1024, 1))));
}

// What is in [from, to], cut to it; a call that goes on from the piece before is one with it.
function add(row: Slices, piece: Slices, from: number, to: number): void {
  for (let at = piece.first_until(from); at < piece.length && piece.from[at] < to; ++at) {
    const begin = Math.max(piece.from[at], from);
    const end = Math.min(piece.to[at], to);
    // What took no time on this axis still happened, but in the piece before.
    if (end === from && piece.from[at] < from) continue;
    const last = row.length - 1;
    if (last >= 0 && row.branch[last] === piece.branch[at] && row.name[last] === piece.name[at] && row.to[last] >= begin && !row.merged(last) && !piece.merged(at)) {
      row.to[last] = Math.max(row.to[last], end);
    } else {
      row.push(begin, end, piece.branch[at], piece.name[at], piece.count[at]);
    }
  }
}

const kDeepestRow = 4096;

function take(tile: Ready, from: number, to: number, band: number, out: Rows): void {
  out.depth = Math.max(out.depth, tile.depth);
  for (const [depth, slices] of tile.rows) {
    while (out.rows.length <= depth && depth < kDeepestRow) out.rows.push(new Slices(0));
    if (out.rows[depth]) add(out.rows[depth], slices, from, to);
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
