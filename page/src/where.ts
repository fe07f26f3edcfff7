// Where the thread stands at the selected moment: open calls, branches around, and where single steps lead.
import type { Info, Place, Scene, SceneBranch } from "./answers";
import { announce, button, h, replace } from "./dom";
import { count } from "./format";
import { base, brief, function_name, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { scene_at } from "./scene";
import { type State, store } from "./state";

export const kSteps: { key: string; step: string; label: string; what: string }[] = [
  { key: "i", step: "insn", label: "Instruction", what: "one instruction" },
  { key: "s", step: "line", label: "Line", what: "to another source line, also into calls" },
  { key: "n", step: "over", label: "Over", what: "to another source line, not into calls" },
  { key: "c", step: "call", label: "Call", what: "to the next function that is entered" },
  { key: "r", step: "return", label: "Return", what: "behind the next return" },
  { key: "f", step: "out", label: "Out", what: "out of the innermost open call" },
];

export function place_text(place: Place | null): string {
  if (!place) return "nowhere";
  const name = place.function ? function_name(place.function) : place.address;
  return place.offset ? `${brief(name, 60)}+0x${place.offset.toString(16)}` : brief(name, 60);
}

export function source_text(place: Pick<Place, "file" | "line"> | null): string {
  return place?.file && place.line ? `${base(place.file)}:${place.line}` : "";
}

export class WhereView implements Panel {
  readonly name = "where";
  readonly title = "Where";
  private readonly turn = new Turn();
  private scene: Scene | null = null;
  private readonly tools = h("div", { class: "tools" });
  private readonly body = h("div", { class: "where-body" });
  readonly element = h("div", { class: "view where" }, this.tools, this.body);

  constructor(
    private readonly shown_scene: (scene: Scene) => void,
    private readonly note: (moment: string) => void,
    private readonly code: HTMLElement,
  ) {}

  refresh(state: State, _info: Info): void {
    if (state.at === "") {
      replace(this.body, h("p", { class: "muted empty" }, "Click a call in the timeline to stand at its first instruction."));
      return;
    }
    fill(this.body, this.turn, state.at, "Walking there", () => scene_at(state.at), (scene) => this.draw(scene));
  }

  // A step by its key; false where it leads nowhere.
  step(name: string, forward: boolean): boolean {
    const target = forward ? this.scene?.steps[name]?.forward : this.scene?.steps[name]?.back;
    if (!target) {
      announce(forward ? "No further." : "No further back.");
      return false;
    }
    store.go({ at: target });
    return true;
  }

  private draw(scene: Scene): void {
    this.scene = scene;
    this.draw_tools(scene);
    const lost = scene.lost_before ? h("p", { class: "trouble" }, "Something was lost before this moment; the open calls may be incomplete.") : null;
    replace(
      this.body,
      h("section", { class: "calls scrolls", attrs: { "aria-label": "Open calls" } }, lost, h("h3", {}, "Open calls"), this.calls(scene)),
      h("section", { class: "where-code", attrs: { "aria-label": "Code around" } }, this.code),
      h("section", { class: "around scrolls", attrs: { "aria-label": "Branches around" } }, h("h3", {}, "Branches around"), this.branches(scene)),
    );
    this.shown_scene(scene);
    announce(`At ${scene.moment}: ${place_text(scene.stands_at)}, ${source_text(scene.stands_at)}, ${shown(scene.instruction ?? "", 100)}`);
  }

  private draw_tools(scene: Scene): void {
    const steps = kSteps.map(({ key, step, label, what }) => {
      const ways = scene.steps[step];
      const big = key.toUpperCase();
      return h(
        "span",
        { class: "step" },
        button("◂", `Back ${what} (${big})`, () => this.step(step, false), { disabled: !ways?.back }),
        h("span", {}, label),
        button("▸", `Forward ${what} (${key})`, () => this.step(step, true), { disabled: !ways?.forward }),
      );
    });
    const others = scene.other_threads.slice(0, 12).map((one) => button(one.moment, `Where that thread was then: ${one.moment}`, () => store.go({ at: one.moment })));
    replace(
      this.tools,
      h("b", { class: "moment" }, scene.moment),
      h("span", { class: "muted" }, `${place_text(scene.stands_at)} ${source_text(scene.stands_at)}`),
      steps,
      button("Note", "Write a note to this moment (b)", () => this.note(scene.moment)),
      others.length > 0 && h("span", { class: "muted" }, "others: "),
      others,
    );
  }

  private calls(scene: Scene): HTMLElement {
    const left_out = scene.calls_left_out;
    const rows = scene.calls.map((call, at) => {
      const name = function_name(call.function);
      const frames = call.frames ?? [];
      const line = frames.length > 0 ? source_text(frames[frames.length - 1]) : source_text(call.at);
      const inlined = frames.filter((frame) => frame.inlined);
      return h(
        "li",
        { class: at === 0 ? "innermost" : "" },
        at === left_out?.behind && h("div", { class: "trouble" }, `${count(left_out.count)} calls are left out here`),
        button(brief(name, 70), `Go to where ${brief(name, 70)} was entered`, () => call.entered && store.go({ at: call.entered }), { class: "link fn", disabled: !call.entered }),
        inlined.map((frame) => h("div", { class: "muted" }, `in ${brief(function_name(frame.function), 70)}, inlined, ${source_text(frame)}`)),
        h("div", { class: "muted" }, h("bdi", {}, base(call.object)), ` ${line} ${place_text(call.at)}`),
        h("div", { class: "muted" }, `${call.how}, ${count(call.instructions)} instructions so far`),
        button("Code", `Code of ${brief(name, 70)}, this call alone`, () => store.go({ view: "code", fn: call.function, call: call.entered ?? "" }), { class: "small" }),
      );
    });
    return h("ol", { class: "open-calls" }, rows);
  }

  private branches(scene: Scene): HTMLElement {
    const row = (branch: SceneBranch, later: boolean): HTMLElement =>
      h(
        "tr",
        { class: later ? "later" : "" },
        h("td", { class: "number" }, this.branch_button(scene, branch)),
        h("td", {}, h("span", { class: `kind ${branch.kind}` }, branch.kind)),
        h("td", { title: source_text(branch.from) }, h("bdi", {}, place_text(branch.from))),
        h("td", { title: source_text(branch.to) }, h("bdi", {}, place_text(branch.to))),
      );
    const head = h("tr", {}, ["Branch", "Kind", "From", "To"].map((text) => h("th", { attrs: { scope: "col" } }, text)));
    return h(
      "table",
      { class: "branches" },
      h("thead", {}, head),
      h("tbody", {}, scene.before.slice(-40).map((one) => row(one, false)), h("tr", { class: "here-row" }, h("td", { attrs: { colspan: "4" } }, `▸ ${shown(scene.instruction ?? "", 200)}`)), scene.after.slice(0, 40).map((one) => row(one, true))),
    );
  }

  private branch_button(scene: Scene, branch: SceneBranch): HTMLElement {
    const thread = scene.moment.slice(0, scene.moment.lastIndexOf(":"));
    return button(count(branch.number), `Stand behind branch ${branch.number}`, () => store.go({ at: `${thread}:${branch.number}` }), { class: "link" });
  }
}
