// The timeline under pointer and keys.
import { announce } from "../dom";
import { count, duration } from "../format";
import { base, shown } from "../names";
import { store } from "../state";
import { value_at } from "./draw";
import { is_processor, type Lane } from "./lanes";
import type { Timeline } from "./view";
import type { Piece, Slices } from "./slices";

type Drag = { kind: "pan" | "select"; x: number; y: number; moved: boolean; from: number };

export class Input {
  private drag: Drag | null = null;

  constructor(private readonly timeline: Timeline) {
    const { canvas } = timeline;
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => timeline.hover(null, 0, 0));
    canvas.addEventListener("dblclick", () => {
      if (timeline.selected) timeline.zoom_to(timeline.selected);
    });
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.say());
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (event.shiftKey) this.timeline.pan((event.deltaY || event.deltaX) * unit);
    else if (event.altKey) this.timeline.scroll_by(event.deltaY * unit);
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.timeline.pan(event.deltaX * unit);
    else this.timeline.zoom(Math.exp(event.deltaY * unit * 0.0016), event.offsetX);
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.timeline.canvas.setPointerCapture(event.pointerId);
    const select = event.shiftKey || event.offsetY < this.timeline.ruler;
    this.drag = {
      kind: select ? "select" : "pan",
      x: event.offsetX,
      y: event.offsetY,
      moved: false,
      from: value_at(event.offsetX, this.timeline.scale),
    };
  }

  private move(event: PointerEvent): void {
    const { timeline, drag } = this;
    if (!drag) {
      timeline.hover(timeline.hit(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    if (!drag.moved && Math.hypot(event.offsetX - drag.x, event.offsetY - drag.y) < 4) return;
    if (!drag.moved) timeline.hover(null, 0, 0);
    drag.moved = true;
    if (drag.kind === "pan") {
      timeline.pan(drag.x - event.offsetX);
      timeline.scroll_by(drag.y - event.offsetY);
      drag.x = event.offsetX;
      drag.y = event.offsetY;
      return;
    }
    const to = value_at(event.offsetX, timeline.scale);
    const low = Math.max(0, Math.floor(Math.min(drag.from, to)));
    const high = Math.min(timeline.length, Math.ceil(Math.max(drag.from, to)));
    if (high > low) store.glide({ range: { from: low, to: high } });
  }

  private up(event: PointerEvent): void {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.moved) return;
    if (drag.kind === "select") {
      store.go({ range: null });
      return;
    }
    const hit = this.timeline.hit(event.offsetX, event.offsetY);
    if (hit) this.timeline.pick(hit, false);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { timeline } = this;
    const middle = timeline.scale.width / 2;
    const far = timeline.scale.width / 6;
    const actions: Record<string, () => void> = {
      w: () => timeline.zoom(1 / 1.5, middle),
      s: () => timeline.zoom(1.5, middle),
      a: () => timeline.pan(-far),
      d: () => timeline.pan(far),
      "0": () => timeline.see_all(),
      f: () => timeline.selected && timeline.zoom_to(timeline.selected),
      r: () => this.select_range(),
      ArrowLeft: () => this.step(-1, 0),
      ArrowRight: () => this.step(1, 0),
      ArrowUp: () => this.step(0, -1),
      ArrowDown: () => this.step(0, 1),
      PageUp: () => timeline.scroll_by(-120),
      PageDown: () => timeline.scroll_by(120),
      Enter: () => this.enter(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }

  private select_range(): void {
    const { selected } = this.timeline;
    if (!selected) return;
    const { from, to, thread } = selected.piece;
    if (is_processor(selected.thread) && this.timeline.axis === "instructions") {
      announce("A processor's instructions are those of many threads: select its range over time.");
      return;
    }
    if (to > from) store.go({ range: { from, to }, thread: thread || (is_processor(selected.thread) ? store.state.thread : selected.thread) });
  }

  private enter(): void {
    const { timeline } = this;
    const lit = timeline.selected;
    const lane = timeline.lanes.find((one) => one.thread === lit?.thread);
    if (lit && lane) {
      timeline.pick({ lane, depth: lit.depth, piece: lit.piece, mark: null, step: null, value: lit.piece.from }, true);
    }
  }

  // Goes to a neighbour; the first step selects what is in the middle.
  private step(along: number, down: number): void {
    const { timeline } = this;
    const lane = timeline.lanes.find((one) => one.thread === timeline.selected?.thread) ?? timeline.lanes[0];
    if (!lane) return;
    const { rows } = timeline.rows(lane);
    const at = timeline.selected;
    const depth = at ? at.depth + down : 0;
    const row = rows[depth];
    const number = !row ? -1 : !at ? 0 : along > 0 ? after(row, at.piece) : along < 0 ? row.first_from(at.piece.from) - 1 : within(row, at.piece, down > 0);
    const piece = row?.piece(number, lane.thread, timeline.tiles.names);
    if (piece) this.come_to(lane, depth, piece);
    else if (!at || down === 0 || !this.leave(lane, at.piece, down)) announce("No call there in view.");
  }

  // To the outermost call of the next lane, down or up, that has one there or behind.
  private leave(lane: Lane, from: Piece, down: number): boolean {
    const { lanes, tiles } = this.timeline;
    for (let next = lanes.indexOf(lane) + down; next >= 0 && next < lanes.length; next += down) {
      const row = this.timeline.rows(lanes[next]).rows[0];
      const piece = row?.piece(Math.min(row.first_until(from.from), row.length - 1), lanes[next].thread, tiles.names);
      if (!piece) continue;
      this.come_to(lanes[next], 0, piece);
      return true;
    }
    return false;
  }

  private come_to(lane: Lane, depth: number, piece: Piece): void {
    const { timeline } = this;
    timeline.selected = { thread: lane.thread, depth, piece };
    timeline.reveal(timeline.selected);
    timeline.pick({ lane, depth, piece, mark: null, step: null, value: piece.from }, false);
    this.follow(piece);
    this.say();
  }

  private follow(piece: Piece): void {
    const { from, to } = this.timeline.window;
    if (piece.from >= from && piece.from <= to) return;
    const half = (to - from) / 2;
    this.timeline.see({ from: piece.from - half, to: piece.from + half });
  }

  private say(): void {
    const lit = this.timeline.selected;
    if (!lit) {
      announce("Timeline. Press an arrow key to go to a call.");
      return;
    }
    const span = lit.piece.to - lit.piece.from;
    const size = this.timeline.axis === "time" ? duration(span) : `${count(span)} instructions`;
    const { piece } = lit;
    const of = piece.label === "" ? "" : ` of ${shown(piece.name, 120)}`;
    const what = is_processor(lit.thread) && lit.depth === 0 ? "turns" : "calls";
    const name = piece.merged ? `${count(piece.count)} short ${what}${of}` : shown(piece.name, 120);
    const whose = piece.thread === "" ? "" : `thread ${piece.thread}`;
    const where = piece.moment === "" ? "" : `at ${piece.moment}`;
    announce([name, base(piece.object), whose, size, `depth ${lit.depth + 1}`, where].filter((word) => word !== "").join(", "));
  }
}

// The next one along a row.
function after(row: Slices, piece: Piece): number {
  let at = row.first_from(piece.to);
  while (at < row.length && row.from[at] <= piece.from) ++at;
  return at;
}

// The caller in the row above, or in the row below the first callee, rather one that begins in the call.
function within(row: Slices, piece: Piece, below: boolean): number {
  const begins = row.first_from(piece.from);
  if (below && begins < row.length && row.from[begins] <= piece.to) return begins;
  const at = row.first_until(below ? piece.from : piece.to);
  return at < row.length && row.from[at] <= (below ? piece.to : piece.from) ? at : -1;
}
