// The deepest level: single instructions, where each has some pixels.
import { alone, ask } from "../rpc";
import type { Slices } from "./slices";

export interface Step {
  place: number; // the instruction's number on the thread's path
  moment: string;
  address: string;
  text: string;
  file?: string;
  line?: number;
}

const kChunk = 256; // are asked for together
const kMostChunks = 32;
const kMostInView = 1024;
const kNarrowest = 5; // pixels

export class Steps {
  private readonly chunks = new Map<string, Step[] | null>(); // null: asked for

  constructor(private readonly came: () => void) {}

  // Whether single instructions are shown where so much of the axis is seen on so many pixels.
  static fit(span: number, width: number): boolean {
    return !alone && span <= kMostInView && width / span >= kNarrowest;
  }

  // Those that are known of a part of a thread's path; what is missing is asked for.
  get(thread: string, from: number, to: number): Step[] {
    const out: Step[] = [];
    for (let at = Math.floor(from / kChunk); at * kChunk <= to; ++at) {
      const key = `${thread} ${at}`;
      const known = this.chunks.get(key);
      if (known === undefined) this.fetch(key, thread, at * kChunk);
      else if (known) out.push(...known.filter((step) => step.place + 1 > from && step.place < to));
    }
    return out;
  }

  forget(): void {
    this.chunks.clear();
  }

  private fetch(key: string, thread: string, from: number): void {
    this.chunks.set(key, null);
    ask<{ steps: Omit<Step, "place">[] }>("steps", { thread, from, to: from + kChunk }).then(
      (answer) => {
        this.chunks.set(key, answer.steps.map((step, at) => ({ ...step, place: from + at })));
        if (this.chunks.size > kMostChunks) {
          const oldest = this.chunks.keys().next();
          if (!oldest.done) this.chunks.delete(oldest.value);
        }
        this.came();
      },
      () => this.chunks.set(key, []), // the path ends before it, or its code is not known
    );
  }
}

// Below which row an instruction hangs: the innermost call that it is in.
export function row_below(rows: Slices[], place: number): number {
  let depth = 0;
  const middle = place + 0.5;
  for (; depth < rows.length; ++depth) {
    const at = rows[depth].first_until(middle);
    if (at >= rows[depth].length || rows[depth].from[at] > middle) break;
  }
  return depth;
}
