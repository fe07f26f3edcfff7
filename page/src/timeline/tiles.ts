// Pieces of lanes as hodo makes them. On level k a piece spans 2^k nanoseconds or instructions, and hodo merges what is
// narrower than 1/512 of it; the timeline takes the level whose pieces are 512 to 1024 pixels wide, so what it holds
// depends on the screen and not on the recording.
import type { Mark, Tile } from "../answers";
import type { Axis } from "../format";
import { alone, ask } from "../rpc";
import { asked_of } from "./lanes";
import { Names, Slices } from "./slices";

export const kTileWidth = 512;
// hodo answers with so many rows at once.
export const kBand = 64;
const kMost = 500;
const kMostSlices = 1_000_000; // of all pieces, 36 bytes each
const kLevelsAbove = 12;
const kRest = 200; // milliseconds without a movement until finer pieces are asked for that take longer

export interface Ready {
  from: number;
  to: number;
  depth: number;
  rows: Map<number, Slices>;
  slices: number;
  marks: Mark[];
  more: boolean;
  finer_later: boolean;
}

interface Wanted {
  key: string;
  thread: string;
  axis: Axis;
  level: number;
  index: number;
  band: number;
}

// The one that hodo is making. It makes one at a time: a second would only wait there, where what is more urgent cannot
// overtake it.
interface Running {
  key: string;
  quick: boolean;
  stop: AbortController;
}

function ready_from(tile: Tile, from: number, to: number, names: Names): Ready {
  const numbers = tile.names.map((one) => names.number(one.name, one.object, one.thread));
  const rows = new Map<number, Slices>();
  let slices = 0;
  for (const row of tile.rows) {
    const made = new Slices(row.gap.length);
    let end = 0;
    let branch = 0;
    row.gap.forEach((gap, at) => {
      const begin = end + gap;
      end = begin + row.length[at];
      branch += row.branch[at];
      const name = row.name[at];
      made.push(begin, end, branch, name < 0 ? name : numbers[name], row.count[at]);
    });
    rows.set(row.depth, made);
    slices += made.length;
  }
  return { from, to, depth: tile.depth, rows, slices, marks: tile.marks, more: tile.more, finer_later: tile.finer_later };
}

export class Tiles {
  readonly names = new Names();
  private known = new Map<string, Ready>();
  private stale = new Map<string, Ready>(); // of the recording as it was before: shown until newer ones come
  private slices = 0; // of those that are known
  private edition = 0;
  private readonly refused = new Map<string, string>();
  private running: Running | null = null;
  private wanted: Wanted[] = [];
  private later: Wanted[] = []; // known, but hodo has finer ones
  private rest = 0; // the timer until these are asked for
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
    this.slices = 0;
    this.refused.clear();
    this.edition += 1;
    this.version += 1;
  }

  refusal(thread: string, axis: Axis, level: number, index: number, band: number): string | undefined {
    return this.refused.get(Tiles.key(thread, axis, level, index, band));
  }

  // What the picture needs now, the most urgent first; what it does not need any more is not asked for, and not waited for.
  want(list: Omit<Wanted, "key">[]): void {
    const all = list.map((one) => ({ ...one, key: Tiles.key(one.thread, one.axis, one.level, one.index, one.band) }));
    const needed = new Set(all.map((one) => one.key));
    this.wanted = all.filter((one) => !this.known.has(one.key) && this.running?.key !== one.key && !this.refused.has(one.key));
    const { running } = this;
    // A finer piece can take longer than who waits for a first one should.
    if (running && (!needed.has(running.key) || (!running.quick && this.wanted.length > 0))) running.stop.abort();
    const later = all.filter((one) => this.finer_later(one.key));
    if (later.map((one) => one.key).join() !== this.later.map((one) => one.key).join()) {
      window.clearTimeout(this.rest);
      this.resting = true;
      this.rest = window.setTimeout(() => {
        this.resting = false;
        this.pump();
      }, kRest);
    }
    this.later = later;
    this.pump();
  }
  private resting = false; // until the timer says so, whatever a clock says

  get busy(): boolean {
    return this.running !== null || this.wanted.length > 0 || this.later.length > 0;
  }

  private finer_later(key: string): boolean {
    return this.known.get(key)?.finer_later === true && !this.refused.has(key);
  }

  private next(): [Wanted, boolean] | null {
    const quick = this.wanted.shift();
    if (quick) return [quick, true];
    if (this.resting) return null;
    const slow = this.later.find((one) => this.finer_later(one.key));
    return slow ? [slow, false] : null;
  }

  private pump(): void {
    const next = this.running ? null : this.next();
    if (!next) return;
    const [wanted, quick] = next;
    const running = { key: wanted.key, quick, stop: new AbortController() };
    this.running = running;
    void this.fetch(wanted, running).finally(() => {
      this.running = null;
      this.pump();
      this.came();
    });
  }

  private async fetch(one: Wanted, { quick, stop }: Running): Promise<void> {
    const span = 2 ** one.level;
    const from = one.index * span;
    const to = from + span;
    const { edition } = this;
    try {
      const { thread, axis } = one;
      const rows = one.band > 0 ? { min_depth: one.band * kBand } : {};
      const how = quick && !alone ? { quick } : {};
      const tile = await ask<Tile>("tile", { ...asked_of(thread), axis, from, to, width: kTileWidth, ...rows, ...how }, stop.signal);
      if (edition !== this.edition) return;
      this.keep(one.key, ready_from(tile, from, to, this.names));
      this.problem = "";
    } catch (error) {
      if (stop.signal.aborted) return;
      this.problem = error instanceof Error ? error.message : String(error);
      this.refused.set(one.key, this.problem);
      this.version += 1;
    }
  }

  private keep(key: string, ready: Ready): void {
    this.forget(key);
    this.stale.delete(key);
    this.known.set(key, ready);
    this.slices += ready.slices;
    this.version += 1;
    while (this.known.size > 1 && (this.known.size > kMost || this.slices > kMostSlices)) {
      const oldest = this.known.keys().next();
      if (!oldest.done) this.forget(oldest.value);
    }
  }

  private forget(key: string): void {
    this.slices -= this.known.get(key)?.slices ?? 0;
    this.known.delete(key);
  }
}
