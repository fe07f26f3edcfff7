// The timeline: what is seen, what hodo has to be asked for, and who is lit.
import type { Info, Mark } from "../answers";
import { fit, once_a_frame, surface_of, text_size } from "../canvas";
import { colors } from "../colors";
import { button, choices, h, replace } from "../dom";
import { type Axis, count, duration } from "../format";
import { lacks } from "../rpc";
import { type Range, store } from "../state";
import { Card } from "./card";
import {
  draw_cursor,
  draw_lane,
  draw_range,
  draw_ruler,
  draw_steps,
  type Lit,
  type Look,
  outline,
  type Scale,
  value_at,
} from "./draw";
import { Input } from "./input";
import { type Lane, lanes_of, lay_out, length_of, row_height, rows_of } from "./lanes";
import { Minimap } from "./minimap";
import { level_for, type Rows, rows_from, type Span } from "./rows";
import type { Piece, Slices } from "./slices";
import { row_below, type Step, Steps } from "./steps";
import { kBand, Tiles } from "./tiles";

export interface Hit {
  lane: Lane;
  depth: number;
  piece: Piece | null;
  mark: Mark | null;
  step: Step | null;
  value: number;
}

interface Kept {
  key: string;
  rows: Rows;
}

export class Timeline {
  readonly element: HTMLElement;
  readonly canvas = h("canvas", { id: "timeline", tabindex: 0, role: "application" });
  readonly tiles = new Tiles(() => this.redraw());
  private readonly instructions = new Steps(() => this.redraw());
  readonly redraw = once_a_frame(() => this.draw());
  lanes: Lane[] = [];
  scroll = 0;
  hovered: Lit | null = null;
  selected: Lit | null = null;
  cursor: number | null = null;
  private info: Info | null = null;
  private content = 0; // height of all lanes
  private readonly surface = surface_of(this.canvas);
  private readonly labels = h("div", { class: "lane-labels" });
  private readonly tools = h("div", { class: "timeline-tools" });
  private readonly status = h("span", { class: "muted", role: "status" });
  private readonly stage = h("div", { class: "stage" }, this.canvas);
  private readonly minimap: Minimap;
  private readonly card = new Card();
  private readonly kept = new Map<string, Kept>();
  sought = "";

  constructor(readonly pick: (hit: Hit, far: boolean) => void) {
    this.canvas.setAttribute("aria-label", "Timeline of calls");
    this.canvas.setAttribute("aria-describedby", "timeline-help");
    this.minimap = new Minimap(this);
    const help = h(
      "p",
      { id: "timeline-help", class: "unseen" },
      "Arrow keys go from call to call: left and right along a row, down to callees and the next lane, up to the caller. Enter opens the ",
      "call's code. W and S zoom, A and D pan, F fills the picture with the call, R selects its range.",
    );
    const body = h("div", { class: "timeline-body" }, this.labels, this.stage);
    this.element = h(
      "section",
      { class: "timeline", attrs: { "aria-label": "Timeline" } },
      this.tools,
      this.minimap.element,
      body,
      help,
      this.card.element,
    );
    new Input(this);
    new ResizeObserver(() => this.redraw()).observe(this.stage);
  }

  get axis(): Axis {
    return store.state.axis;
  }
  get length(): number {
    return this.info ? length_of(this.info, this.axis) : 1;
  }
  get window(): Range {
    return store.state.window ?? { from: 0, to: this.length };
  }
  get scale(): Scale {
    return { window: this.window, width: Math.max(1, this.surface.width) };
  }
  get ruler(): number {
    return Math.round(text_size() * 1.6);
  }

  show(info: Info): void {
    const open = new Map(this.lanes.map((lane) => [lane.thread, lane]));
    this.info = info;
    this.lanes = lanes_of(info);
    for (const lane of this.lanes) {
      const before = open.get(lane.thread);
      if (before) Object.assign(lane, { open: before.open, depth: before.depth });
    }
    this.draw_labels();
    this.draw_tools();
    this.redraw();
  }

  // There is more to be marked.
  mark_again(): void {
    this.tiles.renew();
    this.redraw();
  }

  // The recording has grown.
  renew(info: Info): void {
    this.tiles.renew();
    this.instructions.forget();
    this.kept.clear();
    this.show(info);
  }

  // Shows from..to, within the recording, and never less than a few instructions.
  see(range: Range, glide = true): void {
    const least = 16;
    let span = Math.min(Math.max(range.to - range.from, least), this.length);
    span = Math.max(span, 1);
    const middle = (range.from + range.to) / 2;
    const from = Math.min(Math.max(range.to - range.from < least ? middle - span / 2 : range.from, 0), this.length - span);
    const all = span >= this.length;
    const window = all ? null : { from: Math.max(0, Math.floor(from)), to: Math.ceil(from + span) };
    if (glide) store.glide({ window });
    else store.go({ window });
  }

  zoom(factor: number, x: number): void {
    const { from, to } = this.window;
    const pivot = value_at(x, this.scale);
    this.see({ from: pivot - (pivot - from) * factor, to: pivot + (to - pivot) * factor });
  }

  pan(pixels: number): void {
    const { from, to } = this.window;
    const by = (pixels / this.scale.width) * (to - from);
    const held = Math.min(Math.max(by, -from), this.length - to);
    this.see({ from: from + held, to: to + held });
  }

  scroll_by(pixels: number): void {
    const room = this.surface.height - this.ruler;
    this.scroll = Math.max(0, Math.min(this.scroll + pixels, this.content - room));
    this.redraw();
  }

  see_all(): void {
    store.go({ window: null });
  }

  zoom_to(lit: Lit): void {
    const room = (lit.piece.to - lit.piece.from) * 0.08 + 4;
    this.see({ from: lit.piece.from - room, to: lit.piece.to + room }, false);
  }

  // Which pieces of a lane are in view.
  private seen(lane: Lane): Span {
    const { window, width } = this.scale;
    const level = level_for((window.to - window.from) / width);
    const first = Math.floor(window.from / 2 ** level);
    const last = Math.floor(Math.min(window.to, this.length - 1) / 2 ** level);
    const deepest = (this.scroll + this.surface.height - lane.top) / row_height(lane, text_size());
    const rows = Math.max(1, Math.min(deepest, rows_of(lane)));
    return { level, first, last, bands: Math.ceil(rows / kBand) };
  }

  rows(lane: Lane): Rows {
    const seen = this.seen(lane);
    const key = `${this.axis} ${seen.level} ${seen.first} ${seen.last} ${seen.bands} ${this.tiles.version}`;
    const kept = this.kept.get(lane.thread);
    if (kept && kept.key === key) return kept.rows;
    const rows = rows_from(this.tiles, lane.thread, this.axis, seen);
    this.kept.set(lane.thread, { key, rows });
    return rows;
  }

  hit(x: number, y: number): Hit | null {
    const at = y - this.ruler + this.scroll;
    const lane = this.lanes.find((one) => at >= one.top && at < one.top + one.height);
    if (!lane || y < this.ruler) return null;
    const text = text_size();
    const value = value_at(x, this.scale);
    const rows = this.rows(lane);
    const near = ((this.window.to - this.window.from) / this.scale.width) * 5;
    const mark = at - lane.top < text ? rows.marks.find((one) => Math.abs(one.at - value) < near) ?? null : null;
    const depth = Math.floor((at - lane.top - Math.round(text * 0.55)) / row_height(lane, text));
    const inside = depth >= 0 && depth < rows_of(lane);
    const piece = inside ? this.piece_at(lane, rows.rows[depth], value, near / 5) : null;
    const step = piece || !inside ? null : this.steps(lane).find((one) => Math.floor(value) === one.place && row_below(rows.rows, one.place) === depth) ?? null;
    return { lane, depth, piece, mark, step, value };
  }

  // Single instructions of a lane, where that is what is looked at.
  private steps(lane: Lane): Step[] {
    return lane.steps ? this.instructions.get(lane.thread, this.window.from, this.window.to) : [];
  }

  private piece_at(lane: Lane, row: Slices | undefined, value: number, near: number): Piece | null {
    if (!row) return null;
    const behind = row.first_from(value + 1e-9);
    for (const at of [behind - 1, behind]) {
      if (at < 0 || at >= row.length) continue;
      if (value < row.from[at] - near || value > Math.max(row.to[at], row.from[at] + near)) continue;
      return row.piece(at, lane.thread, this.tiles.names) ?? null;
    }
    return null;
  }

  hover(hit: Hit | null, x: number, y: number): void {
    const piece = hit?.piece ?? null;
    this.hovered = hit && piece ? { thread: hit.lane.thread, depth: hit.depth, piece } : null;
    this.canvas.style.cursor = piece || hit?.mark || hit?.step ? "pointer" : "";
    const box = this.canvas.getBoundingClientRect();
    this.card.show(hit, this.axis, box.left + x, box.top + y);
    this.redraw();
  }

  // Brings a lit slice into sight, up and down.
  reveal(lit: Lit): void {
    const lane = this.lanes.find((one) => one.thread === lit.thread);
    if (!lane) return;
    const high = row_height(lane, text_size());
    const y = lane.top + lit.depth * high;
    const room = this.surface.height - this.ruler;
    if (y < this.scroll) this.scroll = y;
    else if (y + high * 2 > this.scroll + room) this.scroll = y + high * 2 - room;
  }

  toggle(lane: Lane): void {
    lane.open = !lane.open;
    this.draw_labels();
    this.redraw();
  }

  private want(): void {
    const { axis } = this;
    const whole = Math.ceil(Math.log2(Math.max(this.length, 2)));
    const room = this.surface.height - this.ruler;
    const list = [];
    for (const lane of this.lanes) {
      if (lane.top + lane.height <= this.scroll || lane.top >= this.scroll + room) continue;
      const { level, first, last, bands } = this.seen(lane);
      for (let band = 0; band < bands; ++band) {
        for (let index = first; index <= last; ++index) list.push({ thread: lane.thread, axis, level, index, band });
      }
    }
    // The whole lane once, for the small map and as what is shown until finer pieces come.
    for (const lane of this.lanes.slice(0, 64)) list.push({ thread: lane.thread, axis, level: whole, index: 0, band: 0 });
    this.tiles.want(list);
  }

  draw(): void {
    const box = this.stage.getBoundingClientRect();
    if (box.width < 8 || box.height < 8 || !this.info) return;
    fit(this.surface, Math.floor(box.width), Math.floor(box.height));
    const text = text_size();
    const { from, to } = this.window;
    const single = this.axis === "instructions" && Steps.fit(to - from, this.surface.width);
    for (const lane of this.lanes) {
      lane.depth = Math.max(lane.depth, this.rows(lane).depth);
      lane.steps = single && lane.open && !lane.processor && from < lane.info.instructions;
    }
    this.content = lay_out(this.lanes, text);
    this.want();
    this.paint(text);
    this.place_labels();
    this.minimap.draw();
    this.tell();
  }

  private paint(text: number): void {
    const { context } = this.surface;
    const palette = colors();
    const look: Look = {
      scale: this.scale,
      axis: this.axis,
      text,
      hovered: this.hovered,
      selected: this.selected,
      sought: this.sought,
    };
    context.fillStyle = palette.panel;
    context.fillRect(0, 0, this.surface.width, this.surface.height);
    draw_ruler(this.surface, look, this.ruler);
    context.save();
    context.beginPath();
    context.rect(0, this.ruler, this.surface.width, this.surface.height - this.ruler);
    context.clip();
    context.translate(0, this.ruler - this.scroll);
    for (const lane of this.lanes) {
      if (lane.top + lane.height < this.scroll || lane.top > this.scroll + this.surface.height) continue;
      draw_lane(this.surface, lane, this.rows(lane), this.tiles.names, look);
      draw_steps(this.surface, lane, this.rows(lane), this.steps(lane), look);
      if (this.selected?.thread === lane.thread) outline(this.surface, lane, this.selected, look, palette.accent);
      if (this.hovered?.thread === lane.thread) outline(this.surface, lane, this.hovered, look, palette.text);
    }
    context.restore();
    const { range, base } = store.state;
    if (base) draw_range(this.surface, base, look, "hsl(212 80% 55%)", "compared with ");
    if (range) draw_range(this.surface, range, look, palette.select, "");
    if (this.cursor !== null) draw_cursor(this.surface, this.cursor, look);
  }

  private place_labels(): void {
    this.labels.style.paddingTop = `${this.ruler}px`;
    const list = this.labels.firstElementChild as HTMLElement | null;
    if (!list) return;
    list.style.transform = `translateY(${-this.scroll}px)`;
    this.lanes.forEach((lane, at) => {
      const label = list.children[at] as HTMLElement | undefined;
      if (label) label.style.height = `${lane.height}px`;
    });
  }

  private draw_labels(): void {
    const rows = this.lanes.map((lane) => {
      const label = button(lane.title, `${lane.open ? "Fold" : "Unfold"} the lane of ${lane.title} ${lane.detail}`, () =>
        this.toggle(lane),
      );
      label.setAttribute("aria-expanded", String(lane.open));
      return h(
        "div",
        { class: "lane-label" },
        lane.process !== "" && h("div", { class: "lane-process" }, h("bdi", {}, lane.process)),
        label,
        h("div", { class: "muted" }, `${lane.detail} · ${count(lane.info.branches)} branches`),
      );
    });
    replace(this.labels, h("div", {}, rows));
  }

  private draw_tools(): void {
    const info = this.info;
    if (!info) return;
    const axis = choices<Axis>(
      "What the timeline is drawn over",
      [
        { value: "time", label: "Time", title: "Along the time of the recording (x)" },
        { value: "instructions", label: "Instructions", title: "Along the instructions that ran (x)" },
      ],
      this.axis,
      (value) => this.choose_axis(value),
    );
    replace(
      this.tools,
      h("h2", {}, "Timeline"),
      info.has_time && axis,
      button("−", "Zoom out (s)", () => this.zoom(1.6, this.surface.width / 2)),
      button("+", "Zoom in (w)", () => this.zoom(1 / 1.6, this.surface.width / 2)),
      button("All", "Show the whole recording (0)", () => this.see_all()),
      this.status,
    );
  }

  choose_axis(axis: Axis): void {
    if (axis === this.axis || !this.info?.has_time) return;
    this.selected = null;
    this.hovered = null;
    store.go({ axis, window: null, range: null, base: null });
    this.draw_tools();
  }

  private tell(): void {
    this.canvas.setAttribute("aria-busy", String(this.tiles.busy));
    const { from, to } = this.window;
    const span = this.axis === "time" ? duration(to - from) : `${count(to - from)} instructions`;
    const trouble = this.tiles.problem !== "" && lacks === "" ? ` · ${this.tiles.problem}` : "";
    this.status.textContent = `${span} in view${trouble}`;
  }
}
