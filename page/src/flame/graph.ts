// One flame graph: the root at the top and callees below, or, for callers, at the bottom.
import { fit, fitting, kMono, once_a_frame, surface_of, text_size } from "../canvas";
import { change_fill, colors, fill_of, ink_of } from "../colors";
import { announce, h, replace } from "../dom";
import { count, duration, share } from "../format";
import { base, function_name, shown } from "../names";
import { change_of, change_text, type Node, type Stacks } from "./stacks";

export function amount(value: number, unit: string): string {
  return /^(time|ns|nanoseconds)$/.test(unit) ? duration(value) : `${count(value)} ${unit}`;
}

export class FlameGraph {
  readonly canvas = h("canvas", { tabindex: 0, role: "application" });
  private readonly card = h("div", { class: "card", attrs: { "aria-hidden": "true" } });
  readonly element = h("div", { class: "flame-graph" }, this.canvas, this.card);
  private readonly surface = surface_of(this.canvas);
  private readonly redraw = once_a_frame(() => this.draw());
  private stacks: Stacks | null = null;
  private zoomed: Node | null = null;
  private lit: Node | null = null;
  private hovered: Node | null = null;
  private drawn: { node: Node; x: number; y: number; wide: number }[] = [];
  sought = "";

  constructor(
    label: string,
    private readonly upwards: boolean,
    private readonly pick: (node: Node, open: boolean) => void,
  ) {
    this.canvas.setAttribute("aria-label", label);
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("click", (event) => {
      const node = this.at(event.offsetX, event.offsetY);
      if (node) this.choose(node, true);
    });
    this.canvas.addEventListener("dblclick", () => this.lit && this.pick(this.lit, true));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(stacks: Stacks | null): void {
    this.stacks = stacks;
    this.zoomed = null;
    this.lit = null;
    this.redraw();
  }

  seek(text: string): void {
    this.sought = text.toLowerCase();
    this.redraw();
  }

  get untouched(): boolean {
    return this.zoomed === null;
  }

  renew(): void {
    this.redraw();
  }

  private get row(): number {
    return Math.round(text_size() * 1.42);
  }

  private choose(node: Node, zoom: boolean): void {
    this.lit = node;
    if (zoom) this.zoomed = node;
    const stacks = this.stacks;
    if (stacks) {
      announce(`${function_name(node.name)}, ${amount(node.total, stacks.unit)}, ${share(node.total, stacks.total)}`);
    }
    this.pick(node, false);
    this.redraw();
  }

  // Where the zoomed node's children lie, with the nodes above it as wide as the picture.
  private lay_out(width: number): void {
    this.drawn = [];
    if (!this.stacks) return;
    const zoomed = this.zoomed ?? this.stacks.root;
    const scale = width / Math.max(zoomed.to - zoomed.from, 1e-12);
    for (let node: Node | null = zoomed.parent; node; node = node.parent) {
      this.drawn.push({ node, x: 0, y: node.depth, wide: width });
    }
    const open = [zoomed];
    for (let node = open.pop(); node; node = open.pop()) {
      const wide = (node.to - node.from) * scale;
      if (wide < 0.4) continue;
      this.drawn.push({ node, x: (node.from - zoomed.from) * scale, y: node.depth, wide });
      for (const child of node.children) open.push(child);
    }
  }

  private draw(): void {
    const width = Math.floor(this.element.clientWidth);
    if (width < 8 || !this.stacks) return;
    this.lay_out(width);
    const deepest = this.drawn.reduce((most, one) => Math.max(most, one.y), 0);
    const high = Math.min((deepest + 1) * this.row + 2, 12_000);
    fit(this.surface, width, high);
    const { context } = this.surface;
    context.clearRect(0, 0, width, high);
    context.font = `${Math.round(text_size() * 0.86)}px ${kMono}`;
    context.textBaseline = "middle";
    for (const one of this.drawn) {
      one.y = this.upwards ? high - (one.y + 1) * this.row : one.y * this.row;
      this.box(one.node, one.x, one.y, one.wide, this.stacks);
    }
    context.globalAlpha = 1;
  }

  private box(node: Node, x: number, y: number, wide: number, stacks: Stacks): void {
    const { context } = this.surface;
    const palette = colors();
    const found = this.sought !== "" && node.name.toLowerCase().includes(this.sought);
    context.globalAlpha = this.sought !== "" && !found ? 0.35 : 1;
    context.fillStyle = stacks.other > 0 ? change_fill(change_of(node, stacks)) : fill_of(node.name, node.object);
    if (node.depth === 0) context.fillStyle = palette.merged;
    context.fillRect(x, y, Math.max(wide - (wide > 3 ? 1 : 0), 0.5), this.row - 1);
    if (node === this.lit || node === this.hovered || found) {
      context.strokeStyle = node === this.lit || found ? palette.accent : palette.text;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(wide - 3, 1), this.row - 3);
    }
    const text = fitting(node.depth === 0 ? "all" : function_name(node.name), wide - 8, text_size() * 0.86 * 0.602);
    if (text === "") return;
    context.fillStyle = stacks.other > 0 || node.depth === 0 ? palette.text : ink_of(node.object);
    context.fillText(text, x + 4, y + this.row / 2);
  }

  private at(x: number, y: number): Node | null {
    const hit = this.drawn.find((one) => x >= one.x && x < one.x + one.wide && y >= one.y && y < one.y + this.row);
    return hit ? hit.node : null;
  }

  private leave(): void {
    this.hovered = null;
    this.card.classList.remove("on");
    this.redraw();
  }

  private hover(event: PointerEvent): void {
    const node = this.at(event.offsetX, event.offsetY);
    if (!node || !this.stacks) {
      this.leave();
      return;
    }
    if (node !== this.hovered) {
      this.hovered = node;
      replace(this.card, this.lines(node, this.stacks));
      this.redraw();
    }
    this.card.classList.add("on");
    const box = this.card.getBoundingClientRect();
    this.card.style.left = `${Math.min(event.clientX + 14, window.innerWidth - box.width - 8)}px`;
    const below = event.clientY + 18 + box.height < window.innerHeight;
    this.card.style.top = `${below ? event.clientY + 18 : event.clientY - box.height - 12}px`;
  }

  private lines(node: Node, stacks: Stacks): HTMLElement[] {
    return [
      h("b", {}, h("bdi", {}, node.depth === 0 ? "everything" : shown(node.name || "[no name]", 400))),
      h("div", { class: "muted" }, h("bdi", {}, base(node.object))),
      h("div", {}, `${amount(node.total, stacks.unit)} (${share(node.total, stacks.total)}), by itself ${amount(node.self, stacks.unit)}`),
      node.calls > 0 ? h("div", { class: "muted" }, `${count(node.calls)} calls`) : h("div"),
      stacks.other > 0 ? h("div", {}, change_text(node, stacks)) : h("div"),
    ];
  }

  private key(event: KeyboardEvent): void {
    const stacks = this.stacks;
    if (!stacks || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = this.lit ?? this.zoomed ?? stacks.root;
    const sisters = here.parent?.children ?? [here];
    const at = sisters.indexOf(here);
    const inwards = this.upwards ? "ArrowUp" : "ArrowDown";
    const outwards = this.upwards ? "ArrowDown" : "ArrowUp";
    const next: Record<string, Node | null | undefined> = {
      ArrowLeft: sisters[at - 1],
      ArrowRight: sisters[at + 1],
      [inwards]: here.children[0],
      [outwards]: here.parent,
    };
    if (event.key in next) {
      event.preventDefault();
      event.stopPropagation();
      const node = next[event.key];
      if (node) this.choose(node, false);
      else announce("No further.");
    } else if (event.key === "Enter") {
      if (event.shiftKey) this.pick(here, true);
      else this.choose(here, true);
    } else if (event.key === "0" || event.key === "Escape") {
      this.choose(stacks.root, true);
    }
  }
}
