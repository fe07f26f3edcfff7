// The page's colours as the style sheet has them, and one colour for each function: its file gives the hue, its name the
// shade, so that one sees at once whose code ran.

export interface Palette {
  dark: boolean;
  text: string;
  muted: string;
  faint: string;
  line: string;
  panel: string;
  ground: string;
  accent: string;
  danger: string;
  merged: string;
  select: string;
}

let palette: Palette | null = null;
const fills = new Map<string, string>();

export function colors(): Palette {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  palette = {
    dark: of("scheme") === "dark",
    text: of("text"),
    muted: of("muted"),
    faint: of("faint"),
    line: of("line"),
    panel: of("panel"),
    ground: of("ground"),
    accent: of("accent"),
    danger: of("danger"),
    merged: of("merged"),
    select: of("select"),
  };
  return palette;
}

export function forget_colors(): void {
  palette = null;
  fills.clear();
}

function hash(text: string): number {
  let value = 2166136261;
  const length = Math.min(text.length, 400);
  for (let i = 0; i < length; ++i) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

// The C library and the loader are everywhere, and seldom what one looks for: their colours are quiet.
const kQuiet = /(^|\/)(ld-linux|ld-musl|libc\.|libc-|libpthread|libm\.|libdl|\[vdso)/;
// Well apart, also for eyes that tell red from green badly.
const kHues = [65, 250, 300, 165, 15, 120, 275, 90, 205, 340];

// In OKLCH the same lightness looks equally light in every hue, so that the names on them stay readable.
export function fill_of(name: string, object: string): string {
  const key = `${object}\n${name}`;
  const known = fills.get(key);
  if (known) return known;
  const quiet = kQuiet.test(object) || object === "";
  const shade = hash(name);
  const file = object.slice(object.lastIndexOf("/") + 1);
  const hue = quiet ? 245 + (shade % 30) : kHues[hash(file) % kHues.length] + ((shade % 41) - 20);
  const chroma = quiet ? 0.018 + (shade % 8) / 500 : 0.1 + ((shade >>> 8) % 5) / 100;
  const step = ((shade >>> 16) % 14) / 100;
  const light = colors().dark ? (quiet ? 0.34 + step / 2 : 0.68 + step) : quiet ? 0.84 + step / 2 : 0.77 + step;
  const made = `oklch(${light.toFixed(3)} ${chroma.toFixed(3)} ${hue})`;
  if (fills.size > 20_000) fills.clear();
  fills.set(key, made);
  return made;
}

// The names on it.
export function ink_of(object: string): string {
  const { dark, text } = colors();
  return dark && object !== "" && !kQuiet.test(object) ? "#11151c" : text;
}

// From blue (less) over grey to red (more); `change` from -1 to 1.
export function change_fill(change: number): string {
  const size = Math.min(1, Math.abs(change));
  if (size < 0.004) return colors().dark ? "hsl(215 8% 34%)" : "hsl(215 10% 84%)";
  const strength = Math.pow(size, 0.45);
  const hue = change > 0 ? 6 : 212;
  const light = colors().dark ? 34 + 18 * strength : 86 - 24 * strength;
  return `hsl(${hue} ${25 + 55 * strength}% ${light}%)`;
}
