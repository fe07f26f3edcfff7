// Where one is: kept in the address behind the #, so that a link leads there and the browser's back and forward work.
import type { Axis } from "./format";
import { first_place } from "./rpc";

export interface Range {
  from: number;
  to: number;
}

export interface State {
  view: string;
  at: string; // the selected moment
  fn: string; // the function that the code and the list of calls show
  call: string; // the call, by its moment, that the code shows alone
  thread: string; // whose path the range is on
  axis: Axis;
  range: Range | null; // what was selected
  base: Range | null; // what it is compared with
  window: Range | null; // what the timeline shows; null: everything
  other: string; // the recording to compare with
}

export const kNowhere: State = {
  view: "where",
  at: "",
  fn: "",
  call: "",
  thread: "",
  axis: "time",
  range: null,
  base: null,
  window: null,
  other: "",
};

// "parse#17 parse#18" in the place of a recording to compare with: two calls of this one; null: it is a recording.
export function two_calls(other: string): [first: string, second: string] | null {
  const calls = /^(.+#\d+)\s+(.+#\d+)$/.exec(other);
  return calls ? [calls[1], calls[2]] : null;
}

function range_text(range: Range | null): string {
  return range ? `${Math.round(range.from)}-${Math.round(range.to)}` : "";
}

function range_of(text: string | undefined): Range | null {
  const match = /^(\d+)-(\d+)$/.exec(text ?? "");
  if (!match) return null;
  const from = Number(match[1]);
  const to = Number(match[2]);
  return to > from && Number.isSafeInteger(to) ? { from, to } : null;
}

// Moments stay readable: "4242:1700+3".
function escaped(text: string): string {
  return encodeURIComponent(text).replace(/%(3A|2F|2B|2C|23)/g, (word) => decodeURIComponent(word));
}

// As they were escaped, a plus being itself. What cannot be read is left out.
function words_of(hash: string): Map<string, string> {
  const words = new Map<string, string>();
  for (const pair of hash.replace(/^#/, "").split("&")) {
    const at = pair.indexOf("=");
    if (at < 0) continue;
    try {
      words.set(pair.slice(0, at), decodeURIComponent(pair.slice(at + 1)));
    } catch {
      // half a sign
    }
  }
  return words;
}

export function to_hash(state: State): string {
  const texts: [string, string][] = [
    ["view", state.view],
    ["at", state.at],
    ["fn", state.fn],
    ["call", state.call],
    ["thread", state.thread],
    ["axis", state.axis],
    ["range", range_text(state.range)],
    ["base", range_text(state.base)],
    ["window", range_text(state.window)],
    ["other", state.other],
  ];
  const words = texts.filter(([, text]) => text !== "").map(([name, text]) => `${name}=${escaped(text)}`);
  return `#${words.join("&")}`;
}

export function from_hash(hash: string, axis: Axis): State {
  const words = words_of(hash);
  const text = (name: string): string => (words.get(name) ?? "").slice(0, 20_000);
  const asked = text("axis");
  return {
    view: text("view") || kNowhere.view,
    at: text("at"),
    fn: text("fn"),
    call: text("call"),
    thread: text("thread"),
    axis: asked === "time" || asked === "instructions" ? asked : axis,
    range: range_of(words.get("range")),
    base: range_of(words.get("base")),
    window: range_of(words.get("window")),
    other: text("other"),
  };
}

type Listener = (state: State, before: State) => void;

export class Store {
  private listeners: Listener[] = [];
  private default_axis: Axis = "time";
  private pending = 0;

  constructor(public state: State) {
    window.addEventListener("popstate", () => this.set(from_hash(location.hash, this.default_axis)));
    window.addEventListener("hashchange", () => this.set(from_hash(location.hash, this.default_axis)));
  }

  begin(axis: Axis, start: Partial<State>): void {
    this.default_axis = axis;
    const hash = location.hash.length > 1 ? location.hash : first_place;
    const asked = from_hash(hash, axis);
    this.state = hash.length > 1 ? asked : { ...asked, ...start };
    if (this.state.at === "") this.state.at = start.at ?? "";
    if (this.state.thread === "") this.state.thread = start.thread ?? "";
    history.replaceState(null, "", to_hash(this.state));
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  // A step that "back" undoes.
  go(change: Partial<State>): void {
    const next = { ...this.state, ...change };
    if (to_hash(next) === to_hash(this.state)) return;
    this.settle();
    history.pushState(null, "", to_hash(next));
    this.set(next);
  }

  // A movement, as panning: the address follows without a step of its own. Browsers allow some hundred changes of the
  // address in half a minute.
  glide(change: Partial<State>): void {
    this.set({ ...this.state, ...change });
    window.clearTimeout(this.pending);
    this.pending = window.setTimeout(() => this.settle(), 300);
  }

  private settle(): void {
    window.clearTimeout(this.pending);
    if (location.hash !== to_hash(this.state)) history.replaceState(null, "", to_hash(this.state));
  }

  private set(next: State): void {
    const before = this.state;
    this.state = next;
    for (const listener of this.listeners) listener(next, before);
  }
}

export const store = new Store({ ...kNowhere });
