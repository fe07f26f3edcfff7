// The report, the processes and how they ended, and what was lost.
import type { Info, ProcessInfo, Loss } from "./answers";
import { button, h, replace, type Child } from "./dom";
import { count, duration, share } from "./format";
import { base, brief, function_name, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type State, store } from "./state";
import { facts, meter, table } from "./table";

interface Hot {
  function: string;
  object: string;
  instructions: number;
  calls: number;
}

interface Report {
  complete: boolean;
  bytes: number;
  instructions: number;
  branches: { taken: number; not_taken: number; kinds: Record<string, number> };
  losses: Loss[];
  command?: string;
  host?: string;
  duration_ns?: number;
  recorded_by?: string;
  ended?: { pid: number; comm: string; exit_status?: number; signal?: number }[];
  tasks?: { pid: number; tid: number; comm: string; depth: number; instructions: number; branches_taken: number; wall_ns: number }[];
  functions?: Hot[];
}

export function loss_text(loss: Loss): string {
  for (const word of ["sentence", "text", "message", "cause"]) {
    const text = loss[word];
    if (typeof text === "string" && text !== "") return shown(text, 1000);
  }
  return shown(JSON.stringify(loss), 1000);
}

export class ReportView implements Panel {
  readonly name = "report";
  readonly title = "Report";
  private readonly turn = new Turn();
  private readonly body = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view" }, this.body);

  follows(): boolean {
    return true;
  }

  refresh(_state: State, info: Info): void {
    fill(this.body, this.turn, "report", "Adding up", () => remembered.ask<Report>("report"), (report) => this.draw(report, info));
  }

  private draw(report: Report, info: Info): void {
    const functions = report.functions ?? [];
    const most = Math.max(1, ...functions.map((one) => one.instructions));
    const kinds = Object.entries(report.branches.kinds).filter(([, number]) => number > 0);
    const open = (one: Hot): void => store.go({ view: "code", fn: one.function, call: "" });
    replace(
      this.body,
      h(
        "div",
        { class: "columns" },
        h("section", {}, h("h3", {}, "The recording"), this.summary(report, info), this.losses(report.losses)),
        h("section", {}, h("h3", {}, "Branches by kind"), facts(kinds.map(([kind, number]) => [kind, count(number)]))),
      ),
      h("h3", {}, "Hottest functions"),
      table<Hot>(
        "Hottest functions",
        [
          { title: "Instructions", number: true, metered: true, sort: (one) => one.instructions, cell: (one) => [meter(one.instructions, most), count(one.instructions)] },
          { title: "Share", number: true, cell: (one) => share(one.instructions, report.instructions) },
          { title: "Calls", number: true, sort: (one) => one.calls, cell: (one) => count(one.calls) },
          { title: "Function", wide: true, sort: (one) => one.function, cell: (one) => [h("bdi", { class: "fn" }, brief(function_name(one.function), 120)), h("span", { class: "muted" }, ` ${base(one.object)}`)] },
        ],
        functions,
        open,
      ),
    );
  }

  private summary(report: Report, info: Info): HTMLElement {
    const list: [string, Child][] = [
      ["command", shown(report.command ?? info.command, 2000)],
      ["source", shown(info.source, 80)],
      ["host", shown(report.host ?? info.host, 300)],
      ["duration", duration(report.duration_ns ?? info.duration_ns)],
      ["instructions", count(report.instructions)],
      ["branches", `${count(report.branches.taken)} taken, ${count(report.branches.not_taken)} not taken`],
      ["recorded by", shown(report.recorded_by ?? "", 80)],
      ["state", report.complete ? "complete" : "not complete"],
    ];
    return facts(list.filter(([, value]) => value !== ""));
  }

  private losses(losses: Loss[]): Child {
    if (losses.length === 0) return h("p", { class: "good" }, "Nothing was lost.");
    return [h("h3", {}, "Lost"), h("ul", {}, losses.slice(0, 200).map((loss) => h("li", { class: "trouble" }, loss_text(loss))))];
  }
}

interface Ends {
  processes: { pid: number; comm: string; ended: string; threads?: { moment: string }[] }[];
}

// Processes of a machine are told apart by their address spaces.
function spaces_text(process: ProcessInfo): string {
  return process.cr3 ? ` · CR3 ${process.cr3.join(", ")}` : "";
}

export class ProcessesView implements Panel {
  readonly name = "processes";
  readonly title = "Processes";
  private readonly turn = new Turn();
  private readonly body = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view" }, this.body);

  refresh(_state: State, info: Info): void {
    fill(this.body, this.turn, "ends", "Looking how they ended", () => remembered.ask<Ends>("ends").catch(() => ({ processes: [] })), (ends) => this.draw(ends, info));
  }

  private draw(ends: Ends, info: Info): void {
    const known = new Map(ends.processes.map((one) => [one.pid, one]));
    replace(
      this.body,
      info.processes.map((process) => {
        const end = known.get(process.pid);
        const last = end?.threads?.[0]?.moment;
        const ended = end?.ended ?? process.end ?? "";
        return h(
          "section",
          { class: "process" },
          h("h3", {}, h("bdi", {}, shown(process.name, 100)), h("span", { class: "muted" }, ` ${process.pid}${spaces_text(process)}`)),
          h("p", { class: /SIG|kill|crash/.test(ended) ? "trouble" : "muted" }, shown(ended, 400), " ", last !== undefined && button("Where it ended", `Stand where ${process.pid} ended`, () => store.go({ at: last, view: "where" }))),
          table(
            `Threads of ${process.pid}`,
            [
              { title: "Thread", cell: (one) => one.thread },
              { title: "Name", wide: true, cell: (one) => h("bdi", {}, shown(one.name, 60)) },
              { title: "From", number: true, cell: (one) => duration(one.first_ns) },
              { title: "To", number: true, cell: (one) => duration(one.last_ns) },
              { title: "Instructions", number: true, sort: (one) => one.instructions, cell: (one) => count(one.instructions) },
              { title: "Branches", number: true, sort: (one) => one.branches, cell: (one) => count(one.branches) },
            ],
            process.threads,
            (one) => store.go({ at: `start:${one.thread}`, thread: one.thread, view: "where" }),
          ),
        );
      }),
    );
  }
}
