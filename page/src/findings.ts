// What the check found, with its evidence.
import type { Finding, FindingPlace, Findings, Info } from "./answers";
import { button, h, replace, type Child } from "./dom";
import { count } from "./format";
import { base, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type State, store } from "./state";
import { facts } from "./table";

function place(at: FindingPlace | null | undefined): Child {
  if (!at) return "nowhere";
  const object = at.object ? ` (${base(at.object)})` : "";
  const line = at.file && at.line ? ` ${base(at.file)}:${at.line}` : "";
  return h("span", {}, h("code", {}, at.address), " ", h("bdi", {}, shown(at.symbol ?? "", 200)), h("span", { class: "muted" }, `${object}${line}`));
}

function code(title: string, lines: { address: string; instruction: string }[]): Child {
  if (lines.length === 0) return null;
  const text = lines.map((line) => `${line.address}  ${shown(line.instruction, 200)}`).join("\n");
  return h("div", {}, h("h4", {}, title), h("pre", {}, text));
}

export class FindingsView implements Panel {
  readonly name = "findings";
  readonly title = "Findings";
  private readonly turn = new Turn();
  private readonly body = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view" }, this.body);

  // `known`: from now on the timeline can mark them.
  constructor(private readonly known: () => void) {}

  refresh(_state: State, _info: Info): void {
    fill(this.body, this.turn, "findings", "Judging every branch", () => remembered.ask<Findings>("findings"), (answer) => this.draw(answer));
  }

  private draw(answer: Findings): void {
    const list = answer.findings;
    if (list.length > 0) this.known();
    const judged = `${count(answer.branches)} branches were judged`;
    const unsure: Child[] = [];
    if (!answer.complete || answer.losses.length > 0) {
      unsure.push(h("p", { class: "trouble" }, "The recording is not whole: what was lost could not be judged."));
    }
    if (answer.not_checked.length > 0) {
      unsure.push(h("p", { class: "trouble" }, `${count(answer.not_checked.length)} files could not be judged: ${answer.not_checked.slice(0, 20).map((one) => shown(JSON.stringify(one), 200)).join(", ")}`));
    }
    const title = list.length === 0 ? "The program went nowhere it must not go." : `${count(list.length)} ${list.length === 1 ? "finding" : "findings"}`;
    replace(
      this.body,
      h("h3", { class: list.length === 0 && unsure.length === 0 ? "good" : "" }, title),
      h("p", { class: "muted" }, `${judged}${answer.suppressed.length > 0 ? `, ${count(answer.suppressed.length)} findings are suppressed` : ""}.`),
      unsure,
      list.map((one, at) => this.finding(one, at + 1)),
    );
  }

  private finding(one: Finding, number: number): HTMLElement {
    const moment = one.moment ?? `finding:${number}`;
    return h(
      "article",
      { class: `finding ${shown(one.grade, 20)}`, attrs: { "aria-label": `Finding ${number}` } },
      h("header", {}, h("b", {}, shown(one.rule, 80)), h("span", { class: "chip" }, shown(one.grade, 40)), one.count > 1 && h("span", { class: "muted" }, `${count(one.count)} times`), one.doubtful && h("span", { class: "chip" }, "doubtful"), button("Go there", `Stand at finding ${number}`, () => store.go({ at: moment, view: "where" }))),
      h("p", {}, shown(one.reason, 2000)),
      facts([
        ["process", h("bdi", {}, `${shown(one.comm, 60)} ${one.pid}/${one.tid}`)],
        ["branch", shown(one.kind, 20)],
        ["from", place(one.from)],
        ["to", place(one.to)],
        ...one.facts.map((fact): [string, Child] => [shown(fact.what, 80), [fact.place ? place(fact.place) : null, " ", shown(fact.text ?? "", 1000)]]),
      ]),
      code("Code it left", one.code_from),
      code("Code it came to", one.code_to),
    );
  }
}
