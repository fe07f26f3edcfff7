// The flame graph's view: of everything or of the selected range; callers and callees of one function; two ranges
// against each other.
import type { Flame, Info } from "../answers";
import { button, choices, h, replace } from "../dom";
import { count, on_axis, share } from "../format";
import { base, shown } from "../names";
import { fill, type Panel, Turn } from "../panel";
import { remembered } from "../rpc";
import { type Range, type State, store, two_calls } from "../state";
import { amount, FlameGraph } from "./graph";
import { change_text, compared, type Node, type Stacks, stacks_of } from "./stacks";

type By = "instructions" | "time" | "calls";

// What to ask about the selected part of the recording.
export function scope_of(state: State, range: Range | null): Record<string, unknown> {
  const one = state.thread !== "" && range !== null && state.axis === "instructions";
  const thread = one || scoped ? state.thread || undefined : undefined;
  return range ? { thread, from: range.from, to: range.to, axis: state.axis } : { thread };
}

// A recording, and not two calls of this one.
function has_other(state: State): boolean {
  return state.other !== "" && !two_calls(state.other);
}

// Whether views show the selected thread alone.
let scoped = false;
export function scope_choice(state: State, changed: () => void): HTMLElement {
  return choices<"all" | "one">(
    "Whose path",
    [
      { value: "all", label: "All threads" },
      { value: "one", label: `Thread ${state.thread}`, title: "Only the thread of the selected moment" },
    ],
    scoped ? "one" : "all",
    (value) => {
      scoped = value === "one";
      changed();
    },
  );
}

export class FlameView implements Panel {
  readonly name = "flame";
  readonly title = "Flame graph";
  private by: By = "instructions";
  private inverted = false;
  private stacks: Stacks | null = null;
  private has_time = true;
  private readonly turn = new Turn();
  private readonly tools = h("div", { class: "tools" });
  private readonly detail = h("div", { class: "detail", role: "status" });
  private readonly main = new FlameGraph("Flame graph", false, (node, open) => this.pick(node, open));
  private readonly callers = new FlameGraph("Callers", true, (node, open) => this.pick(node, open));
  private readonly callees = new FlameGraph("Callees", false, (node, open) => this.pick(node, open));
  private readonly body = h("div", { class: "scrolls" });
  private readonly find = h("input", {
    attrs: { type: "search", placeholder: "Highlight", "aria-label": "Highlight functions whose name has this" },
    on: { input: () => this.seek() },
  });
  readonly element = h("div", { class: "view flame" }, this.tools, this.detail, this.body);

  refresh(state: State, info: Info): void {
    this.has_time = info.has_time;
    this.draw_tools(state);
    for (const graph of [this.main, this.callers, this.callees]) graph.renew();
    if (state.fn !== "" && this.sandwich) this.show_sandwich(state);
    else if (state.range && state.base) this.show_difference(state, state.range, state.base);
    else if (this.differs(state)) this.show_other(state);
    else this.show_all(state);
  }

  // Whether all of this recording is drawn against the one that --diff named.
  private alone = false;
  private differs(state: State): boolean {
    return !this.alone && has_other(state) && !state.range;
  }

  private sandwich = false;

  follows(): boolean {
    return !this.sandwich && this.main.untouched;
  }

  private ask(state: State, range: Range | null, more: Record<string, unknown> = {}): Promise<Flame> {
    return remembered.ask<Flame>("flame", { ...scope_of(state, range), by: this.by, ...more });
  }

  private question(state: State): string {
    const scope = JSON.stringify(scope_of(state, state.range));
    const base_scope = state.base ? `${state.base.from}-${state.base.to}` : "";
    const other = this.differs(state) ? state.other : "";
    return [scope, base_scope, this.by, this.inverted, this.sandwich ? state.fn : "", other].join(" ");
  }

  private show_all(state: State): void {
    const more = this.inverted ? { invert: true } : {};
    fill(this.body, this.turn, this.question(state), "Adding up calls", () => this.ask(state, state.range, more), (flame) => {
      this.put(stacks_of(flame), flame);
    });
  }

  private show_difference(state: State, range: Range, base_range: Range): void {
    const both = (): Promise<[Flame, Flame]> => Promise.all([this.ask(state, base_range), this.ask(state, range)]);
    fill(this.body, this.turn, this.question(state), "Comparing", both, ([before, now]) => {
      this.put(compared(before, now, ["in the range compared with", "in this one"]), now);
    });
  }

  // Of all threads: those of two recordings have nothing to do with each other.
  private show_other(state: State): void {
    const by = { by: this.by, ...(this.inverted ? { invert: true } : {}) };
    const of = (more: Record<string, unknown>): Promise<Flame> => remembered.ask<Flame>("flame", { ...by, ...more });
    const both = (): Promise<[Flame, Flame]> => Promise.all([of({}), of({ other: state.other })]);
    fill(this.body, this.turn, this.question(state), "Comparing both recordings", both, ([ours, other]) => {
      this.put(compared(ours, other, ["in A", "in B"]), other);
    });
  }

  private put(stacks: Stacks, flame: Flame): void {
    this.stacks = stacks;
    const { nodes } = flame.pruned;
    const pruned = nodes > 0 ? h("p", { class: "muted" }, `${count(nodes)} stacks of less than 0.02 % are left out; select a range to see them.`) : null;
    replace(this.body, this.main.element, pruned);
    this.main.show(stacks);
    this.tell(stacks.root);
  }

  private show_sandwich(state: State): void {
    const both = (): Promise<[Flame, Flame]> =>
      Promise.all([
        this.ask(state, state.range, { function: state.fn, invert: true }),
        this.ask(state, state.range, { function: state.fn }),
      ]);
    fill(this.body, this.turn, this.question(state), "Looking for callers and callees", both, ([up, down]) => {
      const callees = stacks_of(down);
      this.stacks = callees;
      replace(
        this.body,
        h("h3", {}, "Callers"),
        this.callers.element,
        h("h3", {}, "Callees"),
        this.callees.element,
      );
      this.callers.show(stacks_of(up));
      this.callees.show(callees);
      this.tell(callees.root);
    });
  }

  private seek(): void {
    for (const graph of [this.main, this.callers, this.callees]) graph.seek(this.find.value);
  }

  private pick(node: Node, open: boolean): void {
    if (open) store.go({ view: "code", fn: node.name, call: "" });
    else this.tell(node);
  }

  private tell(node: Node): void {
    const stacks = this.stacks;
    if (!stacks) return;
    if (node.depth === 0) {
      const [before, now] = stacks.sides;
      const sums = `${amount(stacks.other, stacks.unit)} ${before}, ${amount(stacks.total, stacks.unit)} ${now}`;
      const whole = stacks.other > 0 ? `Red: a larger share ${now}; blue: ${before}. ${sums}.` : `${amount(stacks.total, stacks.unit)} in all.`;
      replace(this.detail, `${whole} Click a box to look closer.`);
      return;
    }
    const change = stacks.other > 0 ? ` · ${change_text(node, stacks)}` : "";
    replace(
      this.detail,
      h("b", {}, h("bdi", {}, shown(node.name, 200))),
      h("span", { class: "muted" }, ` ${base(node.object)} `),
      `${amount(node.total, stacks.unit)} (${share(node.total, stacks.total)})${change} `,
      button("Code", `Code of ${shown(node.name, 80)}`, () => store.go({ view: "code", fn: node.name, call: "" })),
      button("Calls", `Every call of ${shown(node.name, 80)}`, () => store.go({ view: "calls", fn: node.name })),
      button("Callers and callees", `Who calls ${shown(node.name, 80)} and whom it calls`, () => {
        this.sandwich = true;
        store.go({ fn: node.name });
        this.again();
      }),
    );
  }

  private other_choice(state: State): HTMLElement {
    return choices<"both" | "ours">(
      "Which recording",
      [
        { value: "both", label: `A against ${base(state.other)}`, title: `What is different in ${shown(state.other, 200)}` },
        { value: "ours", label: "A alone", title: "This recording alone" },
      ],
      this.alone ? "ours" : "both",
      (value) => {
        this.alone = value === "ours";
        this.again();
      },
    );
  }

  private again(): void {
    this.turn.again();
    this.refresh(store.state, { has_time: this.has_time } as Info);
  }

  private draw_tools(state: State): void {
    const by: { value: By; label: string }[] = [
      { value: "instructions", label: "Instructions" },
      ...(this.has_time ? [{ value: "time" as const, label: "Time" }] : []),
      { value: "calls", label: "Calls" },
    ];
    const form = this.sandwich ? "sandwich" : this.inverted ? "inverted" : "flame";
    const { range, base: compared_with } = state;
    replace(
      this.tools,
      choices<By>("What is added up", by, this.by, (value) => {
        this.by = value;
        this.again();
      }),
      choices<string>(
        "Form",
        [
          { value: "flame", label: "From the root" },
          { value: "inverted", label: "From the leaves", title: "Where the work was done, and for whom" },
          ...(state.fn !== "" ? [{ value: "sandwich", label: "Callers and callees" }] : []),
        ],
        form,
        (value) => {
          this.sandwich = value === "sandwich";
          this.inverted = value === "inverted";
          this.again();
        },
      ),
      !this.differs(state) && scope_choice(state, () => this.again()),
      has_other(state) && !range && this.other_choice(state),
      range
        ? h("span", { class: "chip" }, `selected ${on_axis(range.to - range.from, state.axis)}`, button("×", "Forget the selected range", () => store.go({ range: null })))
        : h("span", { class: "muted" }, "the whole recording"),
      range && !compared_with && button("Compare from here", "Keep this range; the next selected one is compared with it", () => store.go({ base: range, range: null })),
      compared_with && h("span", { class: "chip blue" }, `compared with ${on_axis(compared_with.to - compared_with.from, state.axis)}`, button("×", "Compare with nothing", () => store.go({ base: null }))),
      this.find,
    );
  }
}
