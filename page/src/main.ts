// Puts the page together: the timeline above, the views below, and what leads from one to the other.
import type { Info, Loss, Scene } from "./answers";
import { CallsView } from "./calls";
import { CodeView } from "./code";
import { CoverageView } from "./coverage";
import { DiffView } from "./diff";
import { announce, button, h, replace } from "./dom";
import { FindingsView } from "./findings";
import { FlameView } from "./flame/view";
import { count, duration } from "./format";
import { Help } from "./help";
import { base, shown } from "./names";
import { NotesView } from "./notes";
import { begin_edition, type Panel } from "./panel";
import { loss_text, ProcessesView, ReportView } from "./report";
import { alone, ask, begin_asking, lacks, type Progress, remembered, show_progress } from "./rpc";
import { scene_at } from "./scene";
import { Search } from "./search";
import { type Range, type State, store } from "./state";
import { begin_theme, switch_theme } from "./theme";
import { type Hit, Timeline } from "./timeline/view";
import { TreeView } from "./tree";
import { kSteps, WhereView } from "./where";

// Where something ran, if that is a small part of the recording's time: a machine may have booted before.
function eventful(info: Info): Range | null {
  const times = info.processes.flatMap((process) => process.threads.flatMap((thread) => [thread.first_ns, thread.last_ns]));
  const known = times.filter((time): time is number => time !== null);
  if (known.length === 0) return null;
  const from = Math.min(...known);
  const to = Math.max(...known);
  const room = (to - from) / 20;
  if (to <= from || to - from > info.duration_ns / 2) return null;
  return { from: Math.floor(Math.max(0, from - room)), to: Math.ceil(Math.min(info.duration_ns, to + room)) };
}

const kSamples =
  "These are samples: windows of a few branches, put one behind the other. What ran between them is not known, so nobody can tell how long " +
  "a call took, how many calls there were, or which calls were open around those that are seen; all counts are of what was sampled.";
const kLook = 3000; // how often the page looks whether the file has changed, in milliseconds
const kShare = 5; // ... and so many times as long as it took to open it again

// Of a file that is being written: its end is cut off wherever the recorder is.
function is_to_come(loss: Loss): boolean {
  const { sites = [] } = loss;
  return loss.cause === "unfinished" || (sites.length > 0 && sites.every((site) => /cut off/.test(site.reason ?? "")));
}

// How long anything took samples do not say: between two of them anything may have run.
async function asked_info(): Promise<Info> {
  const info = await ask<Info>("info");
  return info.can.samples_only ? { ...info, has_time: false } : info;
}

class Page {
  private info: Info | null = null;
  private readonly timeline = new Timeline((hit, far) => this.pick(hit, far));
  private readonly around = new CodeView(true);
  private readonly where = new WhereView((scene) => this.around.show_at(scene), (moment) => this.note(moment), this.around.element);
  private readonly code = new CodeView();
  private readonly notes = new NotesView();
  private readonly panels: Panel[] = [
    this.where,
    new FlameView(),
    new TreeView(),
    this.code,
    new CallsView(),
    new FindingsView(() => this.timeline.mark_again()),
    new ReportView(),
    new CoverageView(),
    new ProcessesView(),
    new DiffView(),
    this.notes,
  ];
  private readonly search = new Search();
  private readonly help = new Help();
  private readonly head = h("div", { class: "recording" });
  private readonly tabs = h("div", { class: "tabs", role: "tablist", attrs: { "aria-label": "Views" } });
  private readonly stage = h("div", { class: "panel", id: "panel", role: "tabpanel", tabindex: -1 });
  private readonly banner = h("div", { class: "banner", role: "status" });
  private readonly meter = h("progress", { class: "working", hidden: true, attrs: { "aria-label": "How far hodo has come" } });
  private readonly working = h("span", { class: "muted working-text" });

  begin(): void {
    begin_theme(() => this.again());
    replace(
      document.body,
      h(
        "header",
        { class: "top" },
        h("div", { class: "brand" }, h("span", { class: "mark", attrs: { "aria-hidden": "true" } }), "hodo"),
        this.head,
        this.working,
        this.search.element,
        button("◐", "Light or dark (l)", () => this.theme(), { class: "round" }),
        button("?", "Keys (?)", () => this.help.toggle(), { class: "round" }),
      ),
      this.meter,
      this.banner,
      h("main", {}, this.timeline.element, this.splitter(), h("section", { class: "views", attrs: { "aria-label": "Views" } }, this.tabs, this.stage)),
      this.help.element,
      h("div", { id: "live", class: "unseen", attrs: { "aria-live": "polite" } }),
    );
    document.addEventListener("keydown", (event) => this.key(event));
    store.listen((state, before) => this.changed(state, before));
    show_progress((progress) => this.work(progress));
    void this.open();
  }

  private work(progress: Progress | null): void {
    const known = progress !== null && progress.total > 0;
    this.meter.hidden = progress === null || progress.what === "";
    if (known) this.meter.value = Math.min(1, progress.done / progress.total);
    else this.meter.removeAttribute("value");
    const share = known ? ` ${Math.floor((100 * progress.done) / progress.total)} %` : "";
    this.working.textContent = this.meter.hidden || !progress ? "" : `${progress.what}${share}`;
  }

  private async open(): Promise<void> {
    try {
      this.info = await asked_info();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      replace(this.banner, h("p", { class: "trouble", role: "alert" }, text));
      return;
    }
    const { info } = this;
    document.title = `${base(info.file)} · hodo`;
    const threads = info.processes.flatMap((process) => process.threads);
    const axis = info.has_time && threads.length > 1 ? "time" : "instructions";
    const first = threads[0]?.thread ?? "";
    const busiest = [...threads].sort((a, b) => b.branches - a.branches)[0]?.thread ?? first;
    store.begin(axis, { thread: busiest, view: busiest ? "flame" : "report", window: axis === "time" ? eventful(info) : null });
    this.draw_head(info);
    this.timeline.show(info);
    this.timeline.draw(); // asks for its pieces before the views ask for what takes longer
    this.draw_tabs();
    this.refresh();
    void this.locate();
    void this.notes.load();
    if (!alone) window.setTimeout(() => void this.look_again(), kLook);
  }

  // hodo answers from the file as it was opened. The view follows one that grows; of another file in its place it says so.
  private async look_again(): Promise<void> {
    let pause = kLook;
    try {
      const info = document.hidden ? this.info : await asked_info();
      if (info?.grown && this.following) pause = await this.follow();
      else if (info?.changed && !info.grown) {
        const open = button("Show what it has now", "Open the recording again", () => void ask("reopen").finally(() => location.reload()));
        replace(this.banner, h("p", { role: "status" }, "The file was replaced since it was opened. ", open));
        return;
      }
    } catch {
      replace(this.banner, h("p", { class: "trouble" }, "hodo view has ended; what is here can still be looked at."));
      return;
    }
    window.setTimeout(() => void this.look_again(), pause);
  }

  private following = true;

  // Opens the recording as it is now, and shows it in the place of what was known. Returns how long to wait until the
  // next time: hodo is to be asked by who looks, too.
  private async follow(): Promise<number> {
    const begin = performance.now();
    try {
      await ask("reopen");
    } catch {
      return kLook; // in the midst of a write; what was known holds
    }
    const info = await asked_info();
    const took = performance.now() - begin;
    this.info = info;
    begin_edition();
    remembered.forget();
    this.draw_head(info);
    this.timeline.renew(info);
    if (this.shown_panel().follows?.()) this.refresh();
    return Math.max(kLook, took * kShare);
  }

  private draw_head(info: Info): void {
    const growing = info.finished === false;
    const lost = info.losses.filter((loss) => !growing || !is_to_come(loss)).length;
    const whole = info.can.samples_only ? "samples" : "complete";
    const state = lost > 0 ? `${count(lost)} losses` : growing ? "still being recorded" : info.complete ? whole : "not complete";
    replace(
      this.head,
      h("b", { title: shown(info.command, 2000) }, h("bdi", {}, base(info.file))),
      h("span", { class: "muted command" }, h("bdi", {}, shown(info.command, 300))),
      h("span", { class: "chip" }, `${count(info.instructions)} instructions`),
      info.duration_ns > 0 && h("span", { class: "chip" }, duration(info.duration_ns)),
      h("span", { class: lost > 0 ? "chip bad" : growing ? "chip growing" : !info.complete ? "chip bad" : info.can.samples_only ? "chip" : "chip good", title: info.losses.slice(0, 5).map(loss_text).join("\n") }, state),
    );
    const words: string[] = [];
    const stop = growing && !alone && this.follow_button();
    if (info.can.samples_only) words.push(kSamples);
    else if (!info.has_time) words.push("This recording has no time; its axis is instructions.");
    if (lacks !== "") words.push(lacks);
    replace(this.banner, stop && h("p", {}, "The recorder has not finished this file: it is still running, or died. The view follows what comes. ", stop), words.map((word) => h("p", {}, shown(word, 1000))));
  }

  private follow_button(): HTMLElement {
    const now = this.following ? "Stop following" : "Follow";
    return button(now, `${now} the recording`, () => {
      this.following = !this.following;
      if (this.info) this.draw_head(this.info);
    });
  }

  private draw_tabs(): void {
    replace(
      this.tabs,
      this.panels.map((panel, at) => {
        const on = panel.name === store.state.view;
        const tab = button(panel.title, `${panel.title}${at < 9 ? ` (${at + 1})` : ""}`, () => store.go({ view: panel.name }), {
          id: `tab-${panel.name}`,
          class: on ? "on" : "",
          role: "tab",
          attrs: { "aria-selected": String(on), "aria-controls": "panel" },
        });
        tab.tabIndex = on ? 0 : -1;
        return tab;
      }),
    );
  }

  private shown_panel(): Panel {
    return this.panels.find((one) => one.name === store.state.view) ?? this.panels[0];
  }

  private refresh(): void {
    if (!this.info) return;
    const panel = this.shown_panel();
    if (this.stage.firstChild !== panel.element) replace(this.stage, panel.element);
    this.stage.setAttribute("aria-labelledby", `tab-${panel.name}`);
    panel.refresh(store.state, this.info);
  }

  private again(): void {
    this.timeline.redraw();
    this.refresh();
  }

  private theme(): void {
    switch_theme();
    this.again();
  }

  private changed(state: State, before: State): void {
    this.timeline.sought = state.view === "calls" ? state.fn : "";
    this.timeline.redraw();
    if (state.view !== before.view) this.draw_tabs();
    if (state.at !== before.at || state.axis !== before.axis) void this.locate();
    const only_moved = state.window !== before.window && state.view === before.view && state.at === before.at && state.range === before.range && state.base === before.base && state.fn === before.fn && state.call === before.call;
    if (!only_moved) this.refresh();
  }

  // Where the selected moment lies on the axis, and, for the code, at which instruction it stands.
  private async locate(): Promise<void> {
    const { at, axis } = store.state;
    if (at === "") {
      this.timeline.cursor = null;
      return;
    }
    try {
      const scene = await scene_at(at);
      if (store.state.at !== at || store.state.axis !== axis) return;
      this.timeline.cursor = this.place_of(scene);
      const thread = scene.moment.slice(0, scene.moment.lastIndexOf(":"));
      if (thread !== store.state.thread) store.glide({ thread });
      this.timeline.redraw();
      if (store.state.view === "code") this.code.stand_at(scene.stands_at?.address ?? "");
    } catch {
      this.timeline.cursor = null; // the view that shows the moment says why
    }
  }

  private place_of(scene: Scene): number | null {
    if (store.state.axis === "time") return scene.time === null ? null : scene.time - (this.info?.start_ns ?? 0);
    return scene.ran;
  }

  private pick(hit: Hit, far: boolean): void {
    const { piece, mark, step } = hit;
    if (mark) {
      store.go({ at: mark.moment, thread: hit.lane.thread, view: mark.kind === "finding" ? "findings" : "where" });
      return;
    }
    if (step) {
      store.go({ at: step.moment, thread: hit.lane.thread, view: "where" });
      return;
    }
    if (!piece) {
      this.timeline.selected = null;
      this.timeline.redraw();
      return;
    }
    this.timeline.selected = { thread: hit.lane.thread, depth: hit.depth, piece };
    this.timeline.cursor = piece.from;
    if (piece.moment === "") {
      this.timeline.redraw();
      return;
    }
    const turn = hit.lane.processor && hit.depth === 0;
    const view = turn && far ? "where" : far ? "code" : store.state.view;
    const known = piece.merged || turn ? {} : { fn: piece.name, call: far || view === "code" ? piece.moment : "" };
    store.go({ at: piece.moment, thread: piece.thread || hit.lane.thread, view, ...known });
  }

  private note(moment: string): void {
    store.go({ view: "notes" });
    this.notes.begin(moment);
  }

  private splitter(): HTMLElement {
    const bar = h("div", {
      class: "splitter",
      tabindex: 0,
      role: "separator",
      attrs: { "aria-orientation": "horizontal", "aria-label": "Between the timeline and the views", "aria-valuenow": "42", "aria-valuemin": "10", "aria-valuemax": "90" },
    });
    const set = (percent: number): void => {
      const held = Math.min(Math.max(percent, 10), 90);
      document.documentElement.style.setProperty("--split", `${held}%`);
      bar.setAttribute("aria-valuenow", String(Math.round(held)));
      this.timeline.redraw();
    };
    bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
    bar.addEventListener("pointermove", (event) => {
      if (!(event.buttons & 1)) return;
      const box = bar.parentElement?.getBoundingClientRect();
      if (box) set(((event.clientY - box.top) / box.height) * 100);
    });
    bar.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowUp" ? -4 : event.key === "ArrowDown" ? 4 : 0;
      if (by === 0) return;
      event.preventDefault();
      set(Number(bar.getAttribute("aria-valuenow")) + by);
    });
    this.set_split = set;
    return bar;
  }
  private set_split: (percent: number) => void = () => undefined;
  private split = 0;

  private key(event: KeyboardEvent): void {
    const field = event.target as Element;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.search.focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || field.closest("input, textarea, select, dialog[open]")) return;
    if (this.common(event.key) || this.steps(event)) event.preventDefault();
  }

  private common(key: string): boolean {
    const actions: Record<string, () => void> = {
      "/": () => this.search.focus(),
      "?": () => this.help.toggle(),
      t: () => this.timeline.canvas.focus(),
      x: () => this.timeline.choose_axis(store.state.axis === "time" ? "instructions" : "time"),
      z: () => this.set_split([42, 14, 78][(this.split = (this.split + 1) % 3)]),
      l: () => this.theme(),
      b: () => store.state.at !== "" && this.note(store.state.at),
      Escape: () => (store.state.range ? store.go({ range: null }) : this.stage.focus()),
    };
    const number = Number(key);
    if (number >= 1 && number <= 9 && this.panels[number - 1]) {
      store.go({ view: this.panels[number - 1].name });
      document.getElementById(`tab-${this.panels[number - 1].name}`)?.focus();
      return true;
    }
    const action = actions[key];
    if (action) action();
    return action !== undefined;
  }

  // As in a debugger; in every view, the scene is fetched if it is not there.
  private steps(event: KeyboardEvent): boolean {
    const step = kSteps.find((one) => one.key === event.key.toLowerCase());
    const { at } = store.state;
    if (!step || at === "") return false;
    const forward = !event.shiftKey;
    void scene_at(at)
      .then((scene) => {
        const target = forward ? scene.steps[step.step]?.forward : scene.steps[step.step]?.back;
        if (target) store.go({ at: target });
        else announce(forward ? "No further." : "No further back.");
      })
      .catch((error: unknown) => announce(error instanceof Error ? error.message : String(error)));
    return true;
  }
}

// Arrow keys along the tabs.
function tab_keys(event: KeyboardEvent): void {
  const tab = (event.target as Element).closest("[role=tab]");
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (!tab || step === 0) return;
  const all = Array.from(document.querySelectorAll<HTMLElement>("[role=tab]"));
  const next = all[(all.indexOf(tab as HTMLElement) + step + all.length) % all.length];
  const { id } = next;
  event.preventDefault();
  next.click();
  document.getElementById(id)?.focus();
}

document.addEventListener("keydown", tab_keys);
begin_asking().then(
  () => new Page().begin(),
  () => replace(document.body, h("p", { class: "trouble", role: "alert" }, "This browser cannot unpack what the file has: it takes one of 2023 or later.")),
);
