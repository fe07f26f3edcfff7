// Two runs: where they part and meet again, and what only one of them did.
import type { Info } from "./answers";
import { button, h, replace, type Child } from "./dom";
import { type Axis, count } from "./format";
import { base, function_name, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type Range, type State, store, two_calls } from "./state";
import { table } from "./table";

interface Side {
  moment: string;
  at: { function?: string; object?: string; file?: string; line?: number; address: string };
  way: string;
  calls: string[];
  meets: string | null;
}

interface Path {
  a: string;
  b: string;
  equal: boolean;
  a_branches: number;
  b_branches: number;
  common: number;
  lost: boolean;
  more: boolean;
  first: { a: Side; b: Side } | null;
  waits: unknown[];
  partings: { a: string; b: string; a_meets: string | null; b_meets: string | null }[];
}

interface Difference {
  kind: string;
  module?: string;
  function?: string;
  file?: string;
  line?: number;
  a: number;
  b: number;
}

interface Diff {
  notes: string[];
  paths: Path[];
  unpaired: unknown[];
  differences: Difference[];
}

function number_of(moment: string): number {
  const match = /:(\d+)/.exec(moment);
  return match ? Number(match[1]) : 0;
}

function asked_for(other: string): Record<string, string> {
  const calls = two_calls(other);
  return calls ? { call: calls[0], other_call: calls[1] } : { other };
}

interface Part extends Range {
  axis: Axis;
  thread?: string;
}

// Both sides as flame graphs against each other.
async function show_flames(other: string): Promise<void> {
  const calls = two_calls(other);
  if (!calls) {
    store.go({ view: "flame", range: null, base: null });
    return;
  }
  const part_of = (call: string): Promise<Part> => remembered.ask<Part>("part", { from: `call:${call}`, to: `return:${call}` });
  const [before, now] = await Promise.all(calls.map(part_of));
  if (before.thread !== now.thread) throw new Error("The two calls are in different threads; a flame graph is of one.");
  const { axis, thread = "" } = now;
  store.go({ view: "flame", axis, thread, base: { from: before.from, to: before.to }, range: { from: now.from, to: now.to } });
}

function flames_button(): Child {
  const trouble = h("span", { class: "muted", role: "status" });
  const show = (): void => {
    show_flames(store.state.other).catch((error: unknown) => replace(trouble, error instanceof Error ? error.message : String(error)));
  };
  return h("p", {}, button("As flame graphs", "What both sides executed, as flame graphs against each other", show), " ", trouble);
}

export class DiffView implements Panel {
  readonly name = "diff";
  readonly title = "Diff";
  private readonly turn = new Turn();
  private readonly other: HTMLInputElement = h("input", {
    attrs: { type: "text", placeholder: "two calls: parse#17 parse#18", "aria-label": "What to compare with" },
    on: { change: () => store.go({ other: this.other.value.trim() }) },
  });
  private readonly body = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view" }, h("div", { class: "tools compared" }, h("span", {}, "Compared"), this.other), this.body);

  refresh(state: State, _info: Info): void {
    if (document.activeElement !== this.other) this.other.value = state.other;
    if (state.other === "") {
      this.turn.again();
      replace(this.body, h("p", { class: "muted empty" }, "Start with ", h("code", {}, "hodo view A --diff B"), ", or name two calls of this recording above."));
      return;
    }
    fill(this.body, this.turn, state.other, "Comparing both paths", () => remembered.ask<Diff>("diff", asked_for(state.other)), (diff) => this.draw(diff));
  }

  private draw(diff: Diff): void {
    replace(
      this.body,
      flames_button(),
      diff.notes.map((note) => h("p", { class: "muted" }, shown(note, 500))),
      diff.paths.map((path) => this.path(path)),
      diff.unpaired.length > 0 && h("p", { class: "muted" }, `${count(diff.unpaired.length)} threads have no partner on the other side.`),
      h("h3", {}, "What only one side did, or more often"),
      diff.differences.length === 0
        ? h("p", { class: "muted" }, "Nothing.")
        : table<Difference>(
            "Differences",
            [
              { title: "A", number: true, sort: (one) => one.a, cell: (one) => count(one.a) },
              { title: "B", number: true, sort: (one) => one.b, cell: (one) => count(one.b) },
              { title: "What", cell: (one) => shown(one.kind, 20) },
              { title: "Where", wide: true, sort: (one) => one.file ?? one.function ?? "", cell: (one) => h("bdi", {}, `${shown(one.function ?? "", 120)} ${one.file ? `${base(one.file)}:${one.line ?? ""}` : ""}`) },
              { title: "File", cell: (one) => base(one.module ?? "") },
            ],
            diff.differences,
          ),
    );
  }

  private path(path: Path): HTMLElement {
    const head = path.equal
      ? h("p", { class: "good" }, `${shown(path.a, 80)} and ${shown(path.b, 80)} went the same way: ${count(path.common)} branches.`)
      : h("p", {}, `${count(path.common)} branches are common to both; A has ${count(path.a_branches)}, B has ${count(path.b_branches)}.`);
    return h(
      "section",
      {},
      h("h3", {}, `${shown(path.a, 80)} · ${shown(path.b, 80)}`),
      head,
      path.waits.length > 0 && h("p", {}, `${count(path.waits.length)} times one waited for other threads where the other did not, or not so.`),
      this.lanes(path),
      path.first && h("div", { class: "columns" }, this.side("A", path.first.a, true), this.side("B", path.first.b, false)),
    );
  }

  // Both paths as lines: together, apart, together again, with the first parting in the middle.
  private lanes(path: Path): Child {
    if (path.equal || path.partings.length === 0) return null;
    const kSvg = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(kSvg, "svg");
    svg.setAttribute("viewBox", "0 0 1000 90");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "two-lanes");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `The paths part after ${count(path.common)} branches`);
    const first = number_of(path.partings[0].a);
    const only_a = Math.max(0, path.a_branches - path.common);
    const only_b = Math.max(0, path.b_branches - path.common);
    const last = path.partings[path.partings.length - 1];
    const end = number_of(last.a_meets ?? last.a) + Math.max(only_a, only_b);
    const most = Math.max(first, end - first, 1);
    const x = (branch: number): number => 500 + (490 * (branch - first)) / most;
    const line = (from: number, to: number, y: number, name: string): void => {
      const made = document.createElementNS(kSvg, "path");
      made.setAttribute("d", `M${x(from).toFixed(1)} ${y}H${Math.max(x(to), x(from) + 2).toFixed(1)}`);
      made.setAttribute("class", name);
      svg.appendChild(made);
    };
    let at = 0;
    for (const parting of path.partings.slice(0, 400)) {
      const a = number_of(parting.a);
      line(at, a, 45, "both");
      at = parting.a_meets ? number_of(parting.a_meets) : a + only_a;
      line(a, at, 18, "only-a");
      line(a, a + (parting.b_meets ? number_of(parting.b_meets) - number_of(parting.b) : only_b), 72, "only-b");
    }
    if (last.a_meets) line(at, end, 45, "both");
    return h("div", { class: "lanes-of-diff" }, svg, h("div", { class: "legend muted" }, h("span", { class: "key only-a" }, "only A"), h("span", { class: "key both" }, "both"), h("span", { class: "key only-b" }, "only B")));
  }

  private side(name: string, side: Side, ours: boolean): HTMLElement {
    const line = side.at.file && side.at.line ? `${base(side.at.file)}:${side.at.line}` : side.at.address;
    return h(
      "section",
      { class: `side ${ours ? "only-a" : "only-b"}` },
      h("h4", {}, `${name} at ${side.moment}`),
      h("p", {}, h("bdi", { class: "fn" }, function_name(side.at.function ?? "")), ` ${line}`),
      h("p", { class: "muted" }, shown(side.way, 300)),
      h("p", { class: "muted" }, side.meets ? `meets the other path again at ${side.meets}` : "does not meet the other path again"),
      h("ol", { class: "muted" }, side.calls.slice(0, 30).map((call) => h("li", {}, h("bdi", {}, shown(call, 120))))),
      ours && button("Stand there", "Go to where they part", () => store.go({ at: side.moment, view: "where" })),
    );
  }
}
