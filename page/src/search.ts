// Search as one types; every result leads somewhere.
import type { Found } from "./answers";
import { announce, h, replace } from "./dom";
import { count } from "./format";
import { shown } from "./names";
import { alone, ask } from "./rpc";
import { type State, store } from "./state";

const kMost = 40;

export class Search {
  readonly input = h("input", {
    id: "search",
    role: "combobox",
    attrs: {
      type: "search",
      placeholder: "Search: function, line, address ( / )",
      "aria-label": "Search functions, files, lines, addresses, processes and moments",
      "aria-controls": "found",
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      autocomplete: "off",
      spellcheck: "false",
    },
    on: { input: () => this.typed(), keydown: (event) => this.key(event), blur: () => window.setTimeout(() => this.close(), 150) },
  });
  private readonly list = h("ul", { id: "found", role: "listbox", attrs: { "aria-label": "Found" } });
  readonly element = h("div", { class: "search", role: "search" }, this.input, this.list);
  private results: Found[] = [];
  private chosen = 0;
  private timer = 0;
  private running: AbortController | null = null;

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  close(): void {
    this.list.classList.remove("on");
    this.input.setAttribute("aria-expanded", "false");
  }

  private typed(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.look(), 120);
  }

  private async look(): Promise<void> {
    const text = this.input.value.trim();
    this.running?.abort();
    if (text === "") {
      this.close();
      return;
    }
    const running = new AbortController();
    this.running = running;
    try {
      const answer = await ask<{ found: Found[]; more: number }>("search", { text, limit: kMost }, running.signal);
      if (this.running !== running) return;
      this.results = answer.found;
      this.chosen = 0;
      this.draw(this.results.length === 0 ? "Nothing in this recording has that." : "");
      announce(`${this.results.length} found`);
    } catch (error) {
      if (running.signal.aborted) return;
      this.results = [];
      this.draw(alone ? "This file has no search." : error instanceof Error ? error.message : String(error));
    }
  }

  private draw(message: string): void {
    this.list.classList.add("on");
    this.input.setAttribute("aria-expanded", "true");
    if (message !== "") {
      replace(this.list, h("li", { class: "muted" }, shown(message, 400)));
      return;
    }
    replace(
      this.list,
      this.results.map((one, at) =>
        h(
          "li",
          { id: `found-${at}`, role: "option", class: at === this.chosen ? "on" : "", attrs: { "aria-selected": String(at === this.chosen) }, on: { pointerdown: () => this.open(one) } },
          h("span", { class: `kind ${one.kind}` }, one.kind),
          h("bdi", { class: "fn" }, shown(one.text, 200)),
          h("span", { class: "muted" }, ` ${shown(one.detail, 200)}${one.calls ? ` · ${count(one.calls)} calls` : ""}`),
        ),
      ),
    );
    this.input.setAttribute("aria-activedescendant", `found-${this.chosen}`);
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  private open(one: Found): void {
    const change: Partial<State> = {};
    if (one.moment) change.at = one.moment;
    if (one.function) Object.assign(change, { fn: one.function, call: "", view: "code" });
    else change.view = "where";
    this.close();
    this.input.blur();
    store.go(change);
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && this.results.length > 0) {
      event.preventDefault();
      this.chosen = (this.chosen + step + this.results.length) % this.results.length;
      this.draw("");
    } else if (event.key === "Enter") {
      const one = this.results[this.chosen];
      if (one && this.list.classList.contains("on")) this.open(one);
      else void this.look();
    } else if (event.key === "Escape") {
      this.close();
      this.input.blur();
    }
    event.stopPropagation();
  }
}
