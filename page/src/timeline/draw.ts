// Draws the timeline: bands for the lanes, slices, marks, the ruler, the selection.
import type { Mark } from "../answers";
import { fitting, kMono, kSans, type Surface } from "../canvas";
import { colors, ink_of } from "../colors";
import { type Axis, on_axis, short, tick_step } from "../format";
import type { Range } from "../state";
import { type Lane, row_height, rows_of } from "./lanes";
import type { Rows } from "./rows";
import { color_of, type Piece } from "./tiles";

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
  if (/loss|lost|crash|signal|end|finding/.test(kind)) return palette.danger;
  if (/exec|fork|clone/.test(kind)) return palette.accent;
  return palette.muted;
}

function label(surface: Surface, piece: Piece, x: number, wide: number, y: number, look: Look): void {
  const from = Math.max(x, 0);
  const room = Math.min(x + wide, surface.width) - from - 8;
  const sign = look.text * 0.86 * 0.602;
  if (room < sign * 2) return;
  const name = piece.merged ? `${piece.label || "calls"} ×${short(piece.count)}` : piece.label;
  const text = fitting(name, room, sign);
  if (text !== "") surface.context.fillText(text, from + 4, y);
}

function slice(surface: Surface, piece: Piece, y: number, high: number, faded: boolean, look: Look): void {
  const { context } = surface;
  const x = x_of(piece.from, look.scale);
  const wide = Math.max(x_of(piece.to, look.scale) - x, 1);
  if (x > surface.width || x + wide < 0) return;
  const left = Math.max(x, -2);
  const right = Math.min(x + wide, surface.width + 2);
  context.globalAlpha = faded ? 0.25 : 1;
  context.fillStyle = piece.label === "" ? colors().merged : color_of(piece);
  const gap = right - left > 3 ? 1 : 0;
  context.fillRect(left, y, Math.max(right - left - gap, 0.6), high - 1);
  if (high < look.text || wide < look.text * 1.6) return;
  context.fillStyle = piece.label === "" ? colors().text : ink_of(piece.object);
  label(surface, piece, x, wide, y + high / 2, look);
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

export function draw_lane(surface: Surface, lane: Lane, content: Rows, look: Look): void {
  const { context } = surface;
  const high = row_height(lane, look.text);
  const top = lane.top + Math.round(look.text * 0.55);
  context.font = `${Math.round(look.text * 0.86)}px ${kMono}`;
  context.textBaseline = "middle";
  const rows = Math.min(content.rows.length, rows_of(lane));
  for (let depth = 0; depth < rows; ++depth) {
    for (const piece of content.rows[depth]) {
      const faded = look.sought !== "" && piece.name !== look.sought;
      slice(surface, piece, top + depth * high, high, faded, look);
    }
  }
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
    context.fillText(on_axis(at, look.axis), x + 5, high / 2);
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
