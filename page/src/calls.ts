// Every call of a function: when, how long, from where, how it ended.
import type { CallList, CallRow, Info } from "./answers";
import { button, choices, h, replace } from "./dom";
import { count, duration } from "./format";
import { brief, function_name, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type State, store } from "./state";
import { meter, table } from "./table";

const kMost = 5000;

export class CallsView implements Panel {
  readonly name = "calls";
  readonly title = "Calls";
  private readonly turn = new Turn();
  private order: "order" | "slowest" = "order";
  private readonly tools = h("div", { class: "tools" });
  private readonly body = h("div", { class: "scrolls" });
  readonly element = h("div", { class: "view" }, this.tools, this.body);

  refresh(state: State, info: Info): void {
    if (state.fn === "") {
      replace(this.tools);
      this.turn.again();
      replace(this.body, h("p", { class: "muted empty" }, "Choose a function: click a call in the timeline, or press / and type its name."));
      return;
    }
    replace(
      this.tools,
      h("b", {}, h("bdi", {}, shown(state.fn, 200))),
      choices<"order" | "slowest">(
        "Order",
        [
          { value: "order", label: "As they came" },
          { value: "slowest", label: "Longest first" },
        ],
        this.order,
        (value) => {
          this.order = value;
          this.refresh(store.state, info);
        },
      ),
      button("Code", "The function's code", () => store.go({ view: "code", call: "" })),
    );
    const sort = this.order === "slowest" ? (info.has_time ? "duration" : "instructions") : undefined;
    const params = { function: state.fn, sort, limit: kMost };
    fill(this.body, this.turn, JSON.stringify(params), "Looking for calls", () => remembered.ask<CallList>("calls", params), (list) => this.draw(list, info));
  }

  private draw(list: CallList, info: Info): void {
    const most = Math.max(1, ...list.calls.map((call) => call.instructions));
    const cut = list.count > list.calls.length ? `, of which ${count(list.calls.length)} are shown` : "";
    const go = (call: CallRow): void => store.go({ at: call.moment, call: call.moment, view: "where" });
    replace(
      this.body,
      h("p", { class: "muted caption" }, `${count(list.count)} calls${cut}`),
      table<CallRow>(
        "Calls",
        [
          { title: "Call", number: true, sort: (call) => -call.number, cell: (call) => `#${count(call.number)}` },
          { title: "Instructions", number: true, metered: true, sort: (call) => call.instructions, cell: (call) => [meter(call.instructions, most), count(call.instructions)] },
          ...(info.has_time ? [{ title: "Took", number: true, sort: (call: CallRow) => call.duration ?? 0, cell: (call: CallRow) => duration(call.duration) }] : []),
          { title: "Ended", cell: (call) => shown(call.outcome, 60) },
          { title: "From", wide: true, cell: (call) => [h("bdi", {}, brief(function_name(call.caller ?? ""), 60)), h("span", { class: "muted" }, ` ${shown(call.line ?? "", 60)}`)] },
          { title: "Moment", cell: (call) => h("span", { class: "moment" }, call.moment) },
        ],
        list.calls,
        go,
      ),
    );
  }
}
