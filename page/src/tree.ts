// The call tree: a row for each path of calls, unfolded where one looks.
import type { Flame, Info, TreeLevel, TreeRow } from "./answers";
import { announce, button, h, replace } from "./dom";
import { count, duration, share } from "./format";
import { scope_choice, scope_of } from "./flame/view";
import { base, brief, function_name, shown } from "./names";
import { failed, fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type State, store } from "./state";

type Column = "instructions" | "self_instructions" | "calls" | "time_ns";
const kColumns: { key: Column; title: string }[] = [
  { key: "instructions", title: "Instructions" },
  { key: "self_instructions", title: "By itself" },
  { key: "calls", title: "Calls" },
  { key: "time_ns", title: "Time" },
];

interface Item {
  row: TreeRow;
  path: string[];
  level: number;
  open: boolean;
  children: Item[] | null;
}

const kMostShown = 3000;

export class TreeView implements Panel {
  readonly name = "tree";
  readonly title = "Call tree";
  private readonly turn = new Turn();
  private readonly tools = h("div", { class: "tools" });
  private readonly body = h("div", { class: "scrolls" });
  readonly element = h("div", { class: "view" }, this.tools, this.body);
  private items: Item[] = [];
  private sort: Column = "instructions";
  private total = 1;
  private focus = "";
  private found = 0;
  private readonly find = h("input", {
    attrs: { type: "search", placeholder: "Find a function", "aria-label": "Find a function in the tree" },
    on: { change: () => void this.seek(), keydown: (event) => event.key === "Enter" && void this.seek() },
  });

  refresh(state: State, _info: Info): void {
    const scope = scope_of(state, state.range);
    replace(
      this.tools,
      scope_choice(state, () => this.refresh(store.state, _info)),
      button("Hot path", "Unfold the path on which most instructions ran (h)", () => void this.unfold_hot()),
      this.find,
    );
    fill(this.body, this.turn, JSON.stringify(scope), "Adding up calls", () => this.ask([]), (level) => {
      this.items = this.made(level, [], 0);
      this.total = Math.max(1, level.total.instructions);
      void this.unfold_hot();
    });
  }

  private ask(path: string[]): Promise<TreeLevel> {
    const scope = scope_of(store.state, store.state.range);
    return remembered.ask<TreeLevel>("tree", path.length > 0 ? { ...scope, path } : scope);
  }

  private made(answer: TreeLevel, path: string[], level: number): Item[] {
    return answer.children.map((row) => ({ row, path: [...path, row.name], level, open: false, children: null }));
  }

  private async unfold(item: Item): Promise<void> {
    if (!item.children) item.children = this.made(await this.ask(item.path), item.path, item.level + 1);
    item.open = true;
  }

  private async toggle(item: Item): Promise<void> {
    try {
      if (item.open) item.open = false;
      else if (item.row.children) await this.unfold(item);
      this.focus = item.path.join("\n");
      this.draw();
    } catch (error) {
      failed(this.body, error);
    }
  }

  // As long as one callee has most of what its caller has.
  private async unfold_hot(): Promise<void> {
    let list = this.items;
    for (let step = 0; step < 60; ++step) {
      const hottest = [...list].sort((a, b) => b.row.instructions - a.row.instructions)[0];
      if (!hottest || !hottest.row.children || hottest.row.instructions < this.total * 0.05) break;
      if (hottest.row.self_instructions > hottest.row.instructions * 0.6) break;
      await this.unfold(hottest);
      this.focus = hottest.path.join("\n");
      list = hottest.children ?? [];
    }
    this.draw();
  }

  // Unfolds the paths on which most instructions of the found function ran; the flame graph knows them all.
  private async seek(): Promise<void> {
    const text = this.find.value.trim().toLowerCase();
    if (text === "") return;
    const flame = await remembered.ask<Flame>("flame", { ...scope_of(store.state, store.state.range), by: "instructions" });
    const matches = flame.nodes
      .map((node, at) => ({ node, at }))
      .filter(({ node, at }) => at > 0 && (flame.names[node[0]]?.name ?? "").toLowerCase().includes(text))
      .sort((a, b) => b.node[3] - a.node[3]);
    this.found = matches.length;
    for (const match of matches.slice(0, 12)) await this.unfold_to(flame, match.at);
    this.draw();
    announce(`${this.found} places in the tree`);
  }

  private async unfold_to(flame: Flame, at: number): Promise<void> {
    const path: string[] = [];
    for (let node = at; node > 0; node = flame.nodes[node][1]) path.unshift(flame.names[flame.nodes[node][0]]?.name ?? "");
    let list = this.items;
    for (const name of path.slice(0, -1)) {
      const item = list.find((one) => one.row.name === name);
      if (!item) return;
      await this.unfold(item);
      list = item.children ?? [];
    }
    const last = list.find((one) => one.row.name === path[path.length - 1]);
    if (last && this.focus === "") this.focus = last.path.join("\n");
  }

  private visible(): Item[] {
    const out: Item[] = [];
    const sorted = (list: Item[]): Item[] =>
      [...list].sort((a, b) => (b.row[this.sort] ?? 0) - (a.row[this.sort] ?? 0));
    const open = sorted(this.items).reverse();
    for (let item = open.pop(); item && out.length < kMostShown; item = open.pop()) {
      out.push(item);
      if (item.open && item.children) open.push(...sorted(item.children).reverse());
    }
    return out;
  }

  private draw(): void {
    const items = this.visible();
    const heads = kColumns.map(({ key, title }) =>
      h(
        "th",
        { attrs: { scope: "col", "aria-sort": this.sort === key ? "descending" : "none" } },
        button(title, `Sort by ${title}`, () => {
          this.sort = key;
          this.draw();
        }),
      ),
    );
    const rows = items.map((item) => this.line(item));
    const table = h(
      "table",
      { class: "tree", role: "treegrid", attrs: { "aria-label": "Call tree" }, on: { keydown: (event) => this.key(event, items) } },
      h("thead", {}, h("tr", {}, heads, h("th", { class: "wide", attrs: { scope: "col" } }, "Function"))),
      h("tbody", {}, rows),
    );
    const cut = items.length >= kMostShown ? h("p", { class: "muted" }, `Only ${count(kMostShown)} rows are shown; fold some.`) : null;
    replace(this.body, table, cut);
    const at = items.findIndex((item) => item.path.join("\n") === this.focus);
    const row = rows[at] ?? rows[0];
    if (!row) return;
    row.tabIndex = 0;
    row.scrollIntoView({ block: "nearest" });
    if (document.activeElement === document.body || this.body.contains(document.activeElement)) row.focus({ preventScroll: true });
  }

  private line(item: Item): HTMLTableRowElement {
    const { row } = item;
    const text = this.find.value.trim().toLowerCase();
    const sought = text !== "" && row.name.toLowerCase().includes(text);
    const fold = h("span", { class: "fold", attrs: { "aria-hidden": "true" } }, row.children ? (item.open ? "▾" : "▸") : " ");
    const indent = h("span", { class: "indent" });
    indent.style.width = `${Math.min(item.level, 60) * 0.9}rem`;
    const bar = h("span", { class: "bar", attrs: { "aria-hidden": "true" } });
    bar.style.width = `${Math.min(100, (100 * row.instructions) / this.total)}%`;
    return h(
      "tr",
      {
        class: sought ? "sought" : "",
        tabindex: -1,
        role: "row",
        attrs: { "aria-level": String(item.level + 1), ...(row.children ? { "aria-expanded": String(item.open) } : {}) },
        on: { click: () => void this.toggle(item), dblclick: () => this.open_code(item) },
      },
      h("td", { class: "number barred" }, bar, h("span", {}, `${count(row.instructions)}  ${share(row.instructions, this.total)}`)),
      h("td", { class: "number" }, count(row.self_instructions)),
      h("td", { class: "number" }, count(row.calls)),
      h("td", { class: "number" }, duration(row.time_ns)),
      h("td", { class: "wide" }, indent, fold, h("bdi", { class: "fn", title: shown(row.name, 2000) }, brief(function_name(row.name), 120)), h("span", { class: "muted" }, ` ${base(row.object)}`)),
    );
  }

  private open_code(item: Item): void {
    const { row } = item;
    store.go({ view: "code", fn: row.name, call: "", ...(row.first ? { at: row.first } : {}) });
  }

  private key(event: KeyboardEvent, items: Item[]): void {
    const at = Math.max(0, items.findIndex((item) => item.path.join("\n") === this.focus));
    const item = items[at];
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const go = (to: number): void => {
      const next = items[Math.min(Math.max(to, 0), items.length - 1)];
      this.focus = next.path.join("\n");
      this.draw();
    };
    const actions: Record<string, () => void> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(items.length - 1),
      ArrowRight: () => (item.open ? go(at + 1) : void this.toggle(item)),
      ArrowLeft: () => {
        if (item.open) void this.toggle(item);
        else go(Math.max(0, items.findIndex((one) => one.path.join("\n") === item.path.slice(0, -1).join("\n"))));
      },
      h: () => void this.unfold_hot(),
      Enter: () => this.open_code(item),
    };
    const action = actions[event.key];
    if (!action || (event.target as Element).tagName === "BUTTON") return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
