// A function's source and instructions beside each other, with how often each ran; its flow graph.
import type { Block, Code, Info, Instruction, Scene, SceneInstruction } from "./answers";
import { announce, button, type Child, choices, h, replace } from "./dom";
import { count } from "./format";
import { framed, taken } from "./graph";
import { base, function_name, shown } from "./names";
import { failed, fill, type Panel, Turn } from "./panel";
import { ask, remembered } from "./rpc";
import { scene_at } from "./scene";
import { type State, store } from "./state";

interface Line {
  file: string;
  line: number;
  count: number | null;
  text: string;
}

// Heat from 0 to 1: as often as the most frequent line is 1.
function heat(value: number, most: number): number {
  return value <= 0 || most <= 0 ? 0 : (Math.log2(value) + 1) / (Math.log2(most) + 1);
}

function warm(element: HTMLElement, value: number, most: number): void {
  element.style.setProperty("--heat", String(Math.round(heat(value, most) * 100) / 100));
}

// The lines that have code, with their counts, among the text around them where hodo could read it.
export function lines_of(code: Code): Line[] {
  const counts = new Map(code.lines.map((one) => [`${one.file}:${one.line}`, one.count]));
  const out: Line[] = [];
  const told = new Set<string>();
  for (const source of code.source) {
    for (const { line, text } of source.lines) {
      const key = `${source.file}:${line}`;
      told.add(key);
      out.push({ file: source.file, line, count: counts.get(key) ?? null, text });
    }
  }
  for (const { file, line, count: times } of code.lines) {
    if (!told.has(`${file}:${line}`)) out.push({ file, line, count: times, text: "" });
  }
  return out.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

// A function by its name, or by an address in it.
function asked_for(fn: string): Record<string, string> {
  return /^0x[0-9a-f]+$/.test(fn) ? { address: fn } : { function: fn };
}

export class CodeView implements Panel {
  readonly name = "code";
  readonly title = "Code";
  private form: "both" | "graph" = "both";
  private readonly turn = new Turn();
  private readonly tools = h("div", { class: "tools" });
  private readonly body = h("div", { class: "code-body" });
  readonly element = h("div", { class: "view code" }, this.tools, this.body);
  private info: Info | null = null;
  private here = ""; // address of the instruction at the selected moment

  // `inner`: part of another view, which says what to show and has tools of its own.
  constructor(private readonly inner = false) {
    if (inner) this.tools.hidden = true;
  }

  // The function at a moment; where code is of none, as a PLT's is, the instructions around.
  show_at(scene: Scene): void {
    const address = scene.stands_at?.address ?? "";
    this.here = address;
    const known = address !== "" && this.body.querySelector(`.side-by-side [data-address="${CSS.escape(address)}"]`);
    if (known) {
      this.stand_at(address);
      return;
    }
    const code = (): Promise<Code | string> => remembered.ask<Code>("code", { address }).catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    fill(this.body, this.turn, `${scene.moment} ${address}`, "Reading code", code, (answer) => {
      if (typeof answer === "string") this.draw_path(scene, answer);
      else this.draw_code(answer);
    });
  }

  private draw_path(scene: Scene, why: string): void {
    const row = (one: SceneInstruction): HTMLElement =>
      h(
        "div",
        { class: `row ${one.moment === scene.moment ? "here" : ""}` },
        h("span", { class: "address muted" }, one.at.address),
        h("span", { class: "text" }, shown(one.text, 300)),
      );
    const what = scene.instructions.length > 0 ? "No function is known to be here. What ran around the moment:" : shown(why, 200);
    replace(this.body, h("p", { class: "muted caption" }, what), h("div", { class: "machine scrolls", role: "region", attrs: { "aria-label": "Instructions" } }, scene.instructions.map(row)));
  }

  refresh(state: State, info: Info): void {
    this.info = info;
    if (this.inner) return;
    this.draw_tools(state);
    const params = asked_for(state.fn);
    const question = JSON.stringify([params, state.call, this.form]);
    if (state.fn === "") {
      this.turn.again();
      replace(this.body, h("p", { class: "muted empty" }, "Choose a function: click a call in the timeline, a box of the flame graph, or press / and type its name."));
      return;
    }
    if (this.form === "graph") {
      fill(this.body, this.turn, question, "Drawing", () => this.of_call<{ svg: string }>("graph", params, state.call), (answer) => this.draw_graph(answer.svg));
    } else {
      fill(this.body, this.turn, question, "Reading code", () => this.of_call<Code>("code", params, state.call), (code) => this.draw_code(code));
    }
  }

  // Of one call alone: from where it was entered to where the step out of it leads.
  private async of_call<T>(method: string, params: Record<string, string>, call: string): Promise<T> {
    if (call === "") return remembered.ask<T>(method, params);
    const { steps } = await scene_at(call);
    return remembered.ask<T>(method, { ...params, from: call, to: steps.out?.forward ?? undefined });
  }

  // Says at which instruction the selected moment stands.
  stand_at(address: string): void {
    this.here = address;
    this.body.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
    const row = this.body.querySelector(`[data-address="${CSS.escape(address)}"]`);
    if (!row) return;
    row.classList.add("here");
    row.scrollIntoView({ block: "nearest" });
    const line = row.getAttribute("data-line");
    const source = line ? this.body.querySelector(`.source [data-line="${CSS.escape(line)}"]`) : null;
    source?.classList.add("here");
    source?.scrollIntoView({ block: "nearest" });
  }

  private draw_tools(state: State): void {
    replace(
      this.tools,
      h("b", {}, h("bdi", {}, state.fn === "" ? "No function" : shown(state.fn, 200))),
      state.fn !== "" &&
        choices<string>(
          "Which calls",
          [
            { value: "all", label: "All calls" },
            { value: "one", label: state.call === "" ? "This call" : `Call at ${state.call}`, title: "Counts of the selected call alone" },
          ],
          state.call === "" ? "all" : "one",
          (value) => store.go({ call: value === "one" ? state.at : "" }),
        ),
      choices<"both" | "graph">(
        "Form",
        [
          { value: "both", label: "Source and instructions" },
          { value: "graph", label: "Flow graph", title: "Blocks that ran are yellow" },
        ],
        this.form,
        (value) => {
          this.form = value;
          if (this.info) this.refresh(store.state, this.info);
        },
      ),
      state.fn !== "" && button("Calls", "Every call of this function", () => store.go({ view: "calls" })),
    );
  }

  private draw_graph(svg: string): void {
    const picture = taken(svg);
    if (!picture) {
      failed(this.body, "The picture cannot be read.");
      return;
    }
    replace(this.body, framed(picture, (address) => void this.execution(address, "next")));
  }

  // Where a jump within the function leads.
  private within(code: Code, target: string): string {
    const offset = Number(target) - Number(code.address);
    return offset >= 0 && offset < code.size ? `+${offset.toString(16)}` : "";
  }

  private draw_code(code: Code): void {
    const most = Math.max(1, ...code.blocks.map((block) => block.count));
    const lines = lines_of(code);
    const source = h("div", { class: "source scrolls", role: "region", attrs: { "aria-label": "Source" } });
    const machine = h("div", { class: "machine scrolls", role: "region", attrs: { "aria-label": "Instructions" } });
    let file = "";
    let before = 0;
    const rows: HTMLElement[] = [];
    for (const line of lines) {
      if (line.file !== file) {
        file = line.file;
        rows.push(h("div", { class: "file-name muted" }, shown(file, 300)));
        if (code.source.some((one) => one.file === line.file && one.newer)) {
          rows.push(h("div", { class: "newer muted" }, `${shown(base(file), 100)} is newer than ${shown(base(code.object), 100)}: its lines may be others now`));
        }
      } else if (line.line > before + 1) {
        rows.push(h("div", { class: "left-out muted" }, "⋯"));
      }
      before = line.line;
      rows.push(this.source_row(line, most));
    }
    replace(source, rows.length > 0 ? rows : h("p", { class: "muted empty" }, "No source lines are known for this function."));
    replace(machine, code.blocks.map((block) => this.block(code, block, most)));
    const entered = `${function_name(code.function)} of ${base(code.object)}, entered ${count(code.entered)} ${code.entered === 1 ? "time" : "times"}`;
    replace(this.body, h("p", { class: "muted caption" }, entered), h("div", { class: "side-by-side" }, source, machine));
    for (const half of [source, machine]) {
      half.addEventListener("pointerover", (event) => this.pair(event.target as Element));
    }
    if (this.here !== "") this.stand_at(this.here);
  }

  private pair(target: Element): void {
    const line = target.closest("[data-line]")?.getAttribute("data-line");
    this.body.querySelectorAll(".paired").forEach((one) => one.classList.remove("paired"));
    if (!line) return;
    this.body.querySelectorAll(`[data-line="${CSS.escape(line)}"]`).forEach((one) => one.classList.add("paired"));
  }

  private source_row(line: Line, most: number): HTMLElement {
    const ran = (line.count ?? 0) > 0;
    const row = h(
      "div",
      { class: `row ${ran ? "ran" : line.count === null ? "no-code" : "not-run"}`, attrs: { "data-line": `${line.file}:${line.line}` } },
      h("span", { class: "count" }, line.count === null ? "" : count(line.count)),
      h("span", { class: "line-number muted" }, String(line.line)),
      h("span", { class: "text" }, shown(line.text.replace(/\t/g, "    "), 2000)),
      ran && this.walk_buttons(`${line.file}:${line.line}`, `line ${line.line}`),
    );
    warm(row, line.count ?? 0, most);
    return row;
  }

  private walk_buttons(where: string, what: string): HTMLElement {
    return h(
      "span",
      { class: "walk" },
      button("◂", `When ${what} ran last before the selected moment`, () => void this.execution(where, "previous")),
      button("▸", `When ${what} runs next after the selected moment`, () => void this.execution(where, "next")),
    );
  }

  private block(code: Code, block: Block, most: number): HTMLElement {
    const ways = block.to
      .filter((way) => way.count > 0)
      .map((way, at): Child[] => [at > 0 ? " · " : "", `${way.kind} ${count(way.count)}`, way.function ? [" to ", this.leave(way.function, way.address ?? "")] : ""]);
    return h(
      "div",
      { class: "block" },
      block.instructions.map((one) => this.instruction(code, one, most)),
      ways.length > 0 && h("div", { class: "ways muted" }, "→ ", ways),
    );
  }

  // To another function, by a jump.
  private leave(name: string, address: string): HTMLElement {
    const text = shown(function_name(name), 200);
    return button(text, `Follow to ${text}`, () => store.go({ view: "code", fn: address || name, call: "" }), { class: "link" });
  }

  private instruction(code: Code, one: Instruction, most: number): HTMLElement {
    const line: Record<string, string> = one.file && one.line ? { "data-line": `${one.file}:${one.line}` } : {};
    const row = h(
      "div",
      { class: `row ${one.count > 0 ? "ran" : "not-run"}`, attrs: { "data-address": one.address, ...line } },
      h("span", { class: "count" }, count(one.count)),
      h("span", { class: "address muted", title: one.address }, `+${one.offset.toString(16)}`),
      h("span", { class: "text" }, this.operation(code, one)),
      one.count > 0 && this.walk_buttons(one.address, `the instruction at +${one.offset.toString(16)}`),
    );
    warm(row, one.count, most);
    return row;
  }

  // Where it leads is a link: within the function to the instruction, else to the other function.
  private operation(code: Code, one: Instruction): Child[] {
    const { target } = one;
    const space = one.text.indexOf(" ");
    if (!target || space < 0) return [shown(one.text, 300)];
    const name = shown(this.within(code, target) || (one.target_function ? function_name(one.target_function) : one.text.slice(space + 1)), 200);
    const follow = (): void => {
      const inside = this.body.querySelector(`.machine [data-address="${CSS.escape(target)}"]`);
      if (inside) inside.scrollIntoView({ block: "center" });
      else store.go({ view: "code", fn: target, call: "" });
    };
    return [`${one.text.slice(0, space)} `, button(name, `Follow to ${name}`, follow, { class: "link" })];
  }

  private async execution(where: string, direction: "next" | "previous"): Promise<void> {
    const kind = where.startsWith("0x") ? { address: where } : { line: where };
    try {
      const { moment } = await ask<{ moment: string | null }>("around", { ...kind, at: store.state.at, direction });
      if (moment) store.go({ at: moment });
      else announce(`It does not run ${direction === "next" ? "after" : "before"} that.`);
    } catch (error) {
      this.say(error instanceof Error ? error.message : String(error));
    }
  }

  private say(text: string): void {
    announce(text);
    const caption = this.body.querySelector(".caption");
    if (caption) caption.textContent = text;
  }
}
