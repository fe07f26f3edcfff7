// Draws the timeline: bands for the lanes, slices, marks, the ruler, the selection.
import type { Mark } from "../answers";
import { fitting, kMono, kSans, type Surface } from "../canvas";
import { colors } from "../colors";
import { type Axis, on_axis, short, tick_step, tick_text } from "../format";
import type { Range } from "../state";
import { type Lane, row_height, rows_of } from "./lanes";
import type { Rows } from "./rows";
import type { Names, Piece, Slices } from "./slices";
import { row_below, type Step } from "./steps";

export interface Scale {
  window: Range;
  width: number;
}

export function x_of(value: number, scale: Scale): number {
  return ((value - scale.window.from) / (scale.window.to - scale.window.from)) * scale.width;
}

export function value_at(x: number, scale: Scale): number {
  return scale.window.from + (x / scale.width) * (scale.window.to - scale.window.from);
}

export interface Lit {
  thread: string;
  depth: number;
  piece: Piece;
}

export interface Look {
  scale: Scale;
  axis: Axis;
  text: number;
  hovered: Lit | null;
  selected: Lit | null;
  sought: string; // a function whose calls stand out; empty: all do
}

export function mark_color(kind: string): string {
  const palette = colors();
  if (/lost|signal|end|finding/.test(kind)) return palette.danger;
  if (/exec|fork|snapshot/.test(kind)) return palette.accent;
  if (kind === "code") return palette.select;
  return palette.muted;
}

function label(surface: Surface, name: string, x: number, right: number, y: number, look: Look): void {
  const from = Math.max(x, 0);
  const room = Math.min(right, surface.width) - from - 8;
  const sign = look.text * 0.86 * 0.602;
  if (room < sign * 2) return;
  const text = fitting(name, room, sign);
  if (text !== "") surface.context.fillText(text, from + 4, y);
}

function label_of(row: Slices, at: number, names: Names): string {
  const name = names.list[row.name[at]]?.label ?? "";
  return row.merged(at) ? `${name || "calls"} ×${short(row.count[at])}` : name;
}

function draw_row(surface: Surface, row: Slices, names: Names, y: number, high: number, look: Look): void {
  const { context, width } = surface;
  const { scale, sought } = look;
  let filled = -1; // the last pixel that a slice which is narrower has already
  for (let at = row.first_until(value_at(-2, scale)); at < row.length; ++at) {
    const x = x_of(row.from[at], scale);
    if (x > width) break;
    const right = Math.max(x_of(row.to[at], scale), x + 1);
    const wide = right - x;
    if (wide < 1.5 && Math.floor(x) === filled) continue;
    if (wide < 1.5) filled = Math.floor(x);
    const paint = names.paint(row.name[at]);
    context.globalAlpha = sought !== "" && names.list[row.name[at]]?.name !== sought ? 0.25 : 1;
    context.fillStyle = paint.fill;
    const left = Math.max(x, -2);
    const seen = Math.min(right, width + 2) - left;
    context.fillRect(left, y, Math.max(seen - (seen > 3 ? 1 : 0), 0.6), high - 1);
    if (high < look.text || wide < look.text * 1.6) continue;
    context.fillStyle = paint.ink;
    label(surface, label_of(row, at, names), x, right, y + high / 2, look);
  }
}

export function outline(surface: Surface, lane: Lane, lit: Lit, look: Look, color: string): void {
  const high = row_height(lane, look.text);
  const x = Math.max(x_of(lit.piece.from, look.scale), -4);
  const right = Math.min(Math.max(x_of(lit.piece.to, look.scale), x + 2), surface.width + 4);
  surface.context.strokeStyle = color;
  surface.context.lineWidth = 2;
  const y = lane.top + Math.round(look.text * 0.55) + lit.depth * high;
  surface.context.strokeRect(x + 0.5, y + 0.5, Math.max(right - x - 1, 2), high - 2);
}

function marks(surface: Surface, lane: Lane, list: Mark[], look: Look): void {
  const { context } = surface;
  const size = Math.round(look.text * 0.42);
  for (const mark of list) {
    const x = x_of(mark.at, look.scale);
    if (x < -size || x > surface.width + size) continue;
    context.fillStyle = mark_color(mark.kind);
    context.globalAlpha = 0.55;
    context.fillRect(Math.round(x), lane.top + 1, 1, lane.height - 2);
    context.globalAlpha = 1;
    if (mark.kind === "sample") continue; // there are too many for more than a line
    context.beginPath();
    context.moveTo(x - size, lane.top + 1);
    context.lineTo(x + size, lane.top + 1);
    context.lineTo(x, lane.top + 1 + size * 1.5);
    context.fill();
  }
}

function missing(surface: Surface, lane: Lane, list: Range[], look: Look): void {
  surface.context.globalAlpha = 0.5;
  surface.context.fillStyle = colors().accent;
  for (const range of list) {
    const x = Math.max(0, x_of(range.from, look.scale));
    const right = Math.min(surface.width, x_of(range.to, look.scale));
    if (right > x) surface.context.fillRect(x, lane.top + lane.height - 2, right - x, 1);
  }
  surface.context.globalAlpha = 1;
}

// Instructions below the calls that they are in.
export function draw_steps(surface: Surface, lane: Lane, content: Rows, steps: Step[], look: Look): void {
  const { context } = surface;
  const high = row_height(lane, look.text);
  const top = lane.top + Math.round(look.text * 0.55);
  context.font = `${Math.round(look.text * 0.8)}px ${kMono}`;
  context.textBaseline = "middle";
  for (const step of steps) {
    const x = x_of(step.place, look.scale);
    const right = x_of(step.place + 1, look.scale);
    const y = top + row_below(content.rows, step.place) * high;
    context.fillStyle = colors().merged;
    context.fillRect(x, y, right - x - 1, high - 1);
    context.fillStyle = colors().text;
    label(surface, step.text, x, right, y + high / 2, look);
  }
}

export function draw_lane(surface: Surface, lane: Lane, content: Rows, names: Names, look: Look): void {
  const { context } = surface;
  const high = row_height(lane, look.text);
  const top = lane.top + Math.round(look.text * 0.55);
  context.font = `${Math.round(look.text * 0.86)}px ${kMono}`;
  context.textBaseline = "middle";
  const rows = Math.min(content.rows.length, rows_of(lane));
  for (let depth = 0; depth < rows; ++depth) draw_row(surface, content.rows[depth], names, top + depth * high, high, look);
  context.globalAlpha = 1;
  missing(surface, lane, content.missing, look);
  marks(surface, lane, content.marks, look);
  context.fillStyle = colors().line;
  context.fillRect(0, lane.top + lane.height - 1, surface.width, 1);
}

export function draw_ruler(surface: Surface, look: Look, high: number): void {
  const { context } = surface;
  const { window: seen, width } = look.scale;
  const step = tick_step((seen.to - seen.from) / width, look.text * 8);
  context.font = `${Math.round(look.text * 0.8)}px ${kSans}`;
  context.textBaseline = "middle";
  for (let at = Math.ceil(seen.from / step) * step; at <= seen.to; at += step) {
    const x = Math.round(x_of(at, look.scale));
    context.fillStyle = colors().line;
    context.fillRect(x, 0, 1, surface.height);
    context.fillStyle = colors().muted;
    context.fillText(tick_text(at, step, look.axis), x + 5, high / 2);
  }
}

export function draw_range(surface: Surface, range: Range, look: Look, color: string, name: string): void {
  const { context } = surface;
  const x = x_of(range.from, look.scale);
  const right = x_of(range.to, look.scale);
  if (right < 0 || x > surface.width) return;
  context.globalAlpha = 0.14;
  context.fillStyle = color;
  context.fillRect(x, 0, right - x, surface.height);
  context.globalAlpha = 1;
  context.fillRect(x, 0, 1, surface.height);
  context.fillRect(right - 1, 0, 1, surface.height);
  const text = `${name}${on_axis(range.to - range.from, look.axis)}`;
  context.font = `600 ${Math.round(look.text * 0.8)}px ${kSans}`;
  const left = Math.max(x, 0) + 1;
  const high = look.text * 1.5;
  context.fillStyle = colors().panel;
  context.fillRect(left, 1, context.measureText(text).width + 10, high);
  context.fillStyle = color;
  context.fillText(text, left + 5, high / 2 + 1);
}

export function draw_cursor(surface: Surface, at: number, look: Look): void {
  const x = x_of(at, look.scale);
  if (x < -8 || x > surface.width + 8) return;
  const { context } = surface;
  context.fillStyle = colors().accent;
  context.fillRect(Math.round(x) - 0.5, 0, 1.5, surface.height);
  context.beginPath();
  context.arc(x, look.text * 0.5, look.text * 0.32, 0, 2 * Math.PI);
  context.fill();
}
