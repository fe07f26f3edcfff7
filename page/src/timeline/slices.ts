// One row's slices, a typed array for each field: a recording has more of them than a page can hold as objects.
import { colors, fill_of, ink_of, type Palette } from "../colors";
import { function_name } from "../names";
import { is_processor } from "./lanes";

export interface Named {
  name: string;
  object: string;
  thread: string; // on a processor: whose it is; else empty
  label: string;
}

// One slice as views pass it on.
export interface Piece extends Named {
  from: number;
  to: number;
  moment: string; // empty: of several threads
  count: number;
  merged: boolean;
}

export const kSeveral = -1; // in the place of a name: calls of several functions

export interface Paint {
  fill: string;
  ink: string;
}

// The functions that slices name by number, for all pieces together.
export class Names {
  readonly list: Named[] = [];
  private readonly numbers = new Map<string, number>();

  number(name: string, object: string, thread = ""): number {
    const key = `${thread}\n${object}\n${name}`;
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    this.numbers.set(key, this.list.length);
    this.list.push({ name, object, thread, label: function_name(name) });
    return this.list.length - 1;
  }

  // How slices of a function, or of several, are painted.
  paint(number: number): Paint {
    if (this.palette !== colors()) {
      this.palette = colors();
      this.paints = [];
    }
    const known = this.paints[number + 1];
    if (known) return known;
    const one = this.list[number];
    const made = one && one.label !== "" ? { fill: fill_of(one.name, one.object || one.thread), ink: ink_of(one.object || one.thread) } : { fill: colors().merged, ink: colors().text };
    this.paints[number + 1] = made;
    return made;
  }
  private palette: Palette | null = null;
  private paints: Paint[] = []; // kSeveral comes first
}

export class Slices {
  length = 0;
  from: Float64Array;
  to: Float64Array;
  branch: Float64Array; // of the moment, behind the thread's name
  name: Int32Array;
  count: Float64Array;

  constructor(room: number) {
    this.from = new Float64Array(room);
    this.to = new Float64Array(room);
    this.branch = new Float64Array(room);
    this.name = new Int32Array(room);
    this.count = new Float64Array(room);
  }

  push(from: number, to: number, branch: number, name: number, count: number): void {
    const at = this.length;
    if (at === this.from.length) this.grow();
    this.from[at] = from;
    this.to[at] = to;
    this.branch[at] = branch;
    this.name[at] = name;
    this.count[at] = count;
    this.length = at + 1;
  }

  merged(at: number): boolean {
    return this.count[at] > 1 || this.name[at] === kSeveral;
  }

  // The first one that ends at or behind a value.
  first_until(value: number): number {
    return this.first_in(this.to, value);
  }

  // The first one that begins at or behind a value.
  first_from(value: number): number {
    return this.first_in(this.from, value);
  }

  private first_in(places: Float64Array, value: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  piece(at: number, thread: string, names: Names): Piece | undefined {
    if (at < 0 || at >= this.length) return undefined;
    const named = names.list[this.name[at]] ?? { name: "", object: "", thread: "", label: "" };
    const whose = named.thread || thread;
    return {
      ...named,
      from: this.from[at],
      to: this.to[at],
      moment: is_processor(whose) ? "" : `${whose}:${this.branch[at]}`,
      count: this.count[at],
      merged: this.merged(at),
    };
  }

  private grow(): void {
    const room = Math.max(64, this.length * 2);
    const larger = <T extends Float64Array | Int32Array>(into: T, from: T): T => (into.set(from), into);
    this.from = larger(new Float64Array(room), this.from);
    this.to = larger(new Float64Array(room), this.to);
    this.branch = larger(new Float64Array(room), this.branch);
    this.name = larger(new Int32Array(room), this.name);
    this.count = larger(new Float64Array(room), this.count);
  }
}
