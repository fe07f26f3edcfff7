// A control flow graph that hodo had laid out. The picture comes as SVG and is the only markup that the page reads: it
// is parsed as XML, not put into the document, and copied element by element, of which only these are taken.
import { h, replace } from "./dom";
import { shown } from "./names";

const kElements = new Set(["svg", "g", "path", "polygon", "polyline", "ellipse", "rect", "text", "tspan", "title"]);
const kAttributes = new Set([
  "viewBox", "transform", "d", "points", "x", "y", "cx", "cy", "rx", "ry", "width", "height", "fill", "stroke", "id", "class",
  "stroke-width", "stroke-dasharray", "text-anchor", "font-size", "font-weight", "opacity", "text-decoration",
]);
const kSvg = "http://www.w3.org/2000/svg";
const kMost = 60_000;

export function taken(markup: string): SVGElement | null {
  const parsed = new DOMParser().parseFromString(markup, "image/svg+xml");
  if (parsed.getElementsByTagName("parsererror").length > 0 || parsed.documentElement.localName !== "svg") return null;
  const root = document.createElementNS(kSvg, "svg");
  const open: [Element, SVGElement][] = [[parsed.documentElement, root]];
  let elements = 0;
  for (let pair = open.pop(); pair; pair = open.pop()) {
    const [from, into] = pair;
    for (const { name, value } of Array.from(from.attributes)) {
      if (kAttributes.has(name) && !/url\s*\(/i.test(value)) into.setAttribute(name, value);
    }
    for (const child of Array.from(from.childNodes)) {
      if (child.nodeType === Node.TEXT_NODE) into.appendChild(document.createTextNode(shown(child.nodeValue ?? "").replace(/\\u\{a\}/g, " ")));
      // Links of the picture are left out, and what they hold is kept.
      if (!(child instanceof Element)) continue;
      const name = child.localName === "a" ? "g" : child.localName;
      if (!kElements.has(name) || ++elements > kMost) continue;
      const made = document.createElementNS(kSvg, name);
      into.appendChild(made);
      open.push([child, made]);
    }
  }
  return root;
}

// Moves and zooms the picture in its frame.
export function framed(svg: SVGElement, choose: (block: string) => void): HTMLElement {
  const box = (svg.getAttribute("viewBox") ?? "0 0 100 100").split(/[\s,]+/).map(Number);
  const seen = { x: box[0], y: box[1], wide: box[2] || 100, high: box[3] || 100 };
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  const apply = (): void => svg.setAttribute("viewBox", `${seen.x} ${seen.y} ${seen.wide} ${seen.high}`);
  const frame = h("div", { class: "graph", tabindex: 0, role: "application", attrs: { "aria-label": "Control flow graph: arrow keys move, plus and minus zoom" } });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "Blocks that ran are yellow; each way has its count");
  const zoom = (factor: number, fx: number, fy: number): void => {
    seen.x += seen.wide * fx * (1 - factor);
    seen.y += seen.high * fy * (1 - factor);
    seen.wide *= factor;
    seen.high *= factor;
    apply();
  };
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = frame.getBoundingClientRect();
    zoom(Math.exp(event.deltaY * 0.0015), (event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height);
  }, { passive: false });
  frame.addEventListener("pointermove", (event) => {
    if (!(event.buttons & 1)) return;
    const at = frame.getBoundingClientRect();
    const scale = Math.max(seen.wide / at.width, seen.high / at.height);
    seen.x -= event.movementX * scale;
    seen.y -= event.movementY * scale;
    apply();
  });
  frame.addEventListener("keydown", (event) => {
    const step: Record<string, () => void> = {
      ArrowLeft: () => (seen.x -= seen.wide / 8),
      ArrowRight: () => (seen.x += seen.wide / 8),
      ArrowUp: () => (seen.y -= seen.high / 8),
      ArrowDown: () => (seen.y += seen.high / 8),
      "+": () => zoom(0.8, 0.5, 0.5),
      "-": () => zoom(1.25, 0.5, 0.5),
    };
    const action = step[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
    apply();
  });
  frame.addEventListener("dblclick", (event) => {
    const block = (event.target as Element).closest("g[id^='b-0x']");
    if (block) choose(block.id.slice(2));
  });
  replace(frame, svg);
  return frame;
}
