// Pieces of lanes as hodo makes them. On level k a piece spans 2^k nanoseconds or instructions, and hodo merges what is
// narrower than 1/1024 of it; the timeline takes the level whose pieces are 512 to 1024 pixels wide, so what it holds
// depends on the screen and not on the recording.
import type { Mark, Tile } from "../answers";
import { fill_of } from "../colors";
import type { Axis } from "../format";
import { function_name } from "../names";
import { ask } from "../rpc";

export const kTileWidth = 1024;
// hodo answers with so many rows at once.
export const kBand = 64;
const kMost = 500;
const kAtOnce = 3;
const kLevelsAbove = 12;

export interface Piece {
  from: number;
  to: number;
  label: string;
  object: string;
  name: string;
  moment: string;
  count: number;
  merged: boolean;
}

export interface Ready {
  from: number;
  to: number;
  depth: number;
  rows: Map<number, Piece[]>;
  marks: Mark[];
  more: boolean;
}

interface Wanted {
  key: string;
  thread: string;
  axis: Axis;
  level: number;
  index: number;
  band: number;
}

function ready_from(tile: Tile, from: number, to: number): Ready {
  const names = tile.names.map((one) => ({ ...one, label: function_name(one.name) }));
  const rows = new Map<number, Piece[]>();
  for (const row of tile.rows) {
    const pieces = row.slices.map((slice): Piece => {
      const name = slice.name >= 0 ? names[slice.name] : undefined;
      return {
        from: slice.from,
        to: slice.to,
        label: name ? name.label : "",
        name: name ? name.name : "",
        object: name ? name.object : "",
        moment: slice.moment,
        count: slice.count,
        merged: !name || slice.count > 1,
      };
    });
    rows.set(row.depth, pieces);
  }
  return { from, to, depth: tile.depth, rows, marks: tile.marks, more: tile.more };
}

export function color_of(piece: Piece): string {
  return fill_of(piece.name, piece.object);
}

export class Tiles {
  private known = new Map<string, Ready>();
  private stale = new Map<string, Ready>(); // of the recording as it was before: shown until newer ones come
  private edition = 0;
  private readonly refused = new Map<string, string>();
  private readonly asked = new Set<string>();
  private wanted: Wanted[] = [];
  private running = 0;
  // Counts what came, so that others see whether what they made of it still holds.
  version = 0;
  problem = "";

  constructor(private readonly came: () => void) {}

  static key(thread: string, axis: Axis, level: number, index: number, band: number): string {
    return `${thread} ${axis} ${level} ${index} ${band}`;
  }

  get(thread: string, axis: Axis, level: number, index: number, band = 0): Ready | undefined {
    const key = Tiles.key(thread, axis, level, index, band);
    const tile = this.known.get(key);
    if (tile) {
      this.known.delete(key); // the newest use lies last
      this.known.set(key, tile);
    }
    return tile ?? this.stale.get(key);
  }

  // The nearest coarser piece that covers it.
  above(thread: string, axis: Axis, level: number, index: number, band: number): Ready | undefined {
    for (let up = 1; up <= kLevelsAbove; ++up) {
      const tile = this.get(thread, axis, level + up, Math.floor(index / 2 ** up), band);
      if (tile) return tile;
    }
    return undefined;
  }

  // The recording has grown.
  renew(): void {
    this.stale = this.known;
    this.known = new Map();
    this.refused.clear();
    this.edition += 1;
    this.version += 1;
  }

  refusal(thread: string, axis: Axis, level: number, index: number, band: number): string | undefined {
    return this.refused.get(Tiles.key(thread, axis, level, index, band));
  }

  // What the picture needs now, the most urgent first; what it does not need any more is not asked for.
  want(list: Omit<Wanted, "key">[]): void {
    this.wanted = list
      .map((one) => ({ ...one, key: Tiles.key(one.thread, one.axis, one.level, one.index, one.band) }))
      .filter((one) => !this.known.has(one.key) && !this.asked.has(one.key) && !this.refused.has(one.key));
    this.pump();
  }

  get busy(): boolean {
    return this.running > 0;
  }

  private pump(): void {
    while (this.running < kAtOnce) {
      const next = this.wanted.shift();
      if (!next) return;
      this.running += 1;
      this.asked.add(next.key);
      void this.fetch(next).finally(() => {
        this.running -= 1;
        this.asked.delete(next.key);
        this.version += 1;
        this.pump();
        this.came();
      });
    }
  }

  private async fetch(one: Wanted): Promise<void> {
    const span = 2 ** one.level;
    const from = one.index * span;
    const to = from + span;
    const { edition } = this;
    try {
      const { thread, axis } = one;
      const rows = one.band > 0 ? { min_depth: one.band * kBand } : {};
      const tile = await ask<Tile>("tile", { thread, axis, from, to, width: kTileWidth, ...rows });
      if (edition !== this.edition) return;
      this.known.set(one.key, ready_from(tile, from, to));
      this.stale.delete(one.key);
      this.problem = "";
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.refused.set(one.key, this.problem);
    }
    if (this.known.size > kMost) {
      const oldest = this.known.keys().next();
      if (!oldest.done) this.known.delete(oldest.value);
    }
  }
}
