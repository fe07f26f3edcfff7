// The whole recording in a strip: how deep the calls go, and what of it is in view.
import { fit, surface_of, text_size } from "../canvas";
import { colors } from "../colors";
import { h } from "../dom";
import { store } from "../state";
import { mark_color } from "./draw";
import type { Timeline } from "./view";

export class Minimap {
  private readonly canvas = h("canvas", { attrs: { "aria-hidden": "true" } });
  readonly element = h("div", { class: "minimap" }, this.canvas);
  private readonly surface = surface_of(this.canvas);
  private profile: { key: string; depths: number[]; most: number } = { key: "", depths: [], most: 1 };

  constructor(private readonly timeline: Timeline) {
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.move(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) this.move(event);
    });
  }

  private move(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * this.timeline.length;
    const { from, to } = this.timeline.window;
    const half = (to - from) / 2;
    const middle = Math.min(Math.max(at, half), this.timeline.length - half);
    this.timeline.see({ from: middle - half, to: middle + half });
  }

  private depths(width: number): number[] {
    const { timeline } = this;
    const key = `${width} ${timeline.axis} ${timeline.tiles.version} ${timeline.length}`;
    if (this.profile.key === key) return this.profile.depths;
    const depths = new Array<number>(width).fill(0);
    const whole = Math.ceil(Math.log2(Math.max(timeline.length, 2)));
    for (const lane of timeline.lanes.slice(0, 64)) {
      const tile = timeline.tiles.get(lane.thread, timeline.axis, whole, 0);
      if (!tile) continue;
      for (const [depth, row] of tile.rows) {
        for (let at = 0; at < row.length; ++at) {
          const from = Math.max(0, Math.floor((row.from[at] / timeline.length) * width));
          const to = Math.min(width - 1, Math.floor((row.to[at] / timeline.length) * width));
          for (let x = from; x <= to; ++x) depths[x] = Math.max(depths[x], depth + 1);
        }
      }
    }
    this.profile = { key, depths, most: Math.max(1, ...depths) };
    return depths;
  }

  draw(): void {
    const box = this.element.getBoundingClientRect();
    const high = Math.round(text_size() * 2.3);
    if (box.width < 8) return;
    fit(this.surface, Math.floor(box.width), high);
    const { context, width } = this.surface;
    const palette = colors();
    context.fillStyle = palette.ground;
    context.fillRect(0, 0, width, high);
    const depths = this.depths(Math.floor(width));
    context.fillStyle = palette.faint;
    const room = high - 4;
    depths.forEach((depth, x) => {
      const tall = (depth / this.profile.most) * room;
      context.fillRect(x, high - tall, 1, tall);
    });
    this.marks(width, high);
    const { from, to } = this.timeline.window;
    const left = (from / this.timeline.length) * width;
    const right = Math.max((to / this.timeline.length) * width, left + 3);
    context.fillStyle = palette.accent;
    context.globalAlpha = 0.13;
    context.fillRect(left, 0, right - left, high);
    context.globalAlpha = 1;
    context.strokeStyle = palette.accent;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, 0.5, right - left - 1, high - 1);
    const { range } = store.state;
    if (range) {
      context.fillStyle = palette.select;
      context.fillRect((range.from / this.timeline.length) * width, high - 3, Math.max(2, ((range.to - range.from) / this.timeline.length) * width), 3);
    }
  }

  private marks(width: number, high: number): void {
    const { timeline } = this;
    const whole = Math.ceil(Math.log2(Math.max(timeline.length, 2)));
    for (const lane of timeline.lanes.slice(0, 64)) {
      for (const mark of timeline.tiles.get(lane.thread, timeline.axis, whole, 0)?.marks ?? []) {
        if (mark.kind === "sample") continue;
        this.surface.context.fillStyle = mark_color(mark.kind);
        this.surface.context.fillRect(Math.round((mark.at / timeline.length) * width), 0, 1.5, high);
      }
    }
  }
}
