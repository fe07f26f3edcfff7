// What lies under the pointer, beside the pointer.
import { type Child, h, replace } from "../dom";
import { type Axis, count, duration } from "../format";
import { base, shown } from "../names";
import type { Piece } from "./slices";
import type { Hit } from "./view";

export class Card {
  readonly element = h("div", { class: "card", attrs: { "aria-hidden": "true" } });

  show(hit: Hit | null, axis: Axis, x: number, y: number): void {
    const lines = hit ? this.lines(hit, axis) : null;
    this.element.classList.toggle("on", lines !== null);
    if (!lines) return;
    replace(this.element, lines);
    const box = this.element.getBoundingClientRect();
    const left = Math.min(x + 14, window.innerWidth - box.width - 8);
    const below = y + 18 + box.height < window.innerHeight;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${below ? y + 18 : Math.max(4, y - box.height - 12)}px`;
  }

  private lines(hit: Hit, axis: Axis): Child[] | null {
    if (hit.mark) {
      return [h("b", {}, shown(hit.mark.text, 400)), h("div", { class: "muted" }, shown(hit.mark.kind, 60))];
    }
    const { lane, piece, step } = hit;
    if (step) {
      const line = step.file ? `${base(step.file)}:${step.line ?? ""}` : "";
      return [
        h("b", {}, h("bdi", {}, shown(step.text, 200))),
        h("div", { class: "muted" }, `${step.address} ${shown(line, 200)}`),
        h("div", { class: "muted" }, `at ${step.moment}`),
      ];
    }
    if (!piece) return null;
    const span = piece.to - piece.from;
    const size = axis === "time" ? duration(span) : `${count(span)} instructions`;
    if (lane.processor && hit.depth === 0) return this.turn(piece, size);
    if (piece.merged) {
      const of = piece.label === "" ? "" : ` of ${shown(piece.name, 200)}`;
      const what = `${count(piece.count)} calls${of}, each too short to see here`;
      return [h("b", {}, what), h("div", { class: "muted" }, `${size} together; zoom in`)];
    }
    return [
      h("b", {}, h("bdi", {}, shown(piece.name || "[no name]", 400))),
      h("div", { class: "muted" }, h("bdi", {}, base(piece.object) || "[no file]")),
      piece.thread !== "" && h("div", { class: "muted" }, `in thread ${piece.thread}`),
      h("div", {}, size),
      h("div", { class: "muted" }, `begins at ${piece.moment}`),
    ];
  }

  // Who had the processor.
  private turn(piece: Piece, size: string): Child[] {
    const several = piece.thread === "" ? " of several threads" : "";
    const turns = piece.merged ? `${count(piece.count)} turns${several}, each too short to see here` : "one turn";
    return [
      h("b", {}, h("bdi", {}, shown(piece.name || (several ? "several threads" : "[no name]"), 400))),
      piece.thread !== "" && h("div", { class: "muted" }, `thread ${piece.thread}`),
      h("div", {}, size),
      h("div", { class: "muted" }, turns),
    ];
  }
}
