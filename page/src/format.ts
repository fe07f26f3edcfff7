// Numbers as people read them.

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

// Three digits that count: 1.23 M.
export function short(value: number): string {
  const units: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  for (const [size, unit] of units) {
    if (Math.abs(value) >= size) return `${trimmed(value / size)} ${unit}`;
  }
  return trimmed(value);
}

function trimmed(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "–";
  const units: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units) {
    if (Math.abs(ns) >= size) return `${trimmed(ns / size)} ${unit}`;
  }
  return `${trimmed(ns)} ns`;
}

export function share(part: number, whole: number): string {
  if (whole <= 0) return "";
  const percent = (100 * part) / whole;
  return `${percent.toFixed(percent < 9.95 ? 1 : 0)} %`;
}

export type Axis = "time" | "instructions";

export function on_axis(value: number, axis: Axis): string {
  return axis === "time" ? duration(value) : short(value);
}

// Where a ruler has its ticks: 1, 2 or 5 times a power of ten apart, at least `room` pixels.
export function tick_step(per_pixel: number, room: number): number {
  const least = per_pixel * room;
  const power = Math.pow(10, Math.floor(Math.log10(Math.max(least, 1e-9))));
  for (const factor of [1, 2, 5, 10]) {
    if (power * factor >= least) return Math.max(1, power * factor);
  }
  return Math.max(1, power * 10);
}

// A tick's place, with as many digits as tell it from the next one.
export function tick_text(at: number, step: number, axis: Axis): string {
  if (at === 0) return axis === "time" ? "0 ns" : "0";
  const units: [number, string][] = axis === "time" ? [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]] : [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"], [1, ""]];
  const most = axis === "time" ? 3 : 1; // digits behind the point; else a smaller unit says the same
  for (const [size, name] of units) {
    const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
    if (at < size || digits > most) continue;
    const text = (at / size).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return `${text}${name}`;
  }
  return count(at);
}
