// The keys, as the page shows them.
import { button, h } from "./dom";
import { kSteps } from "./where";

const kGroups: { title: string; keys: [string, string][] }[] = [
  {
    title: "Everywhere",
    keys: [
      ["/ or Ctrl-K", "search"],
      ["1 to 9", "the views under the timeline, in their order"],
      ["t", "into the timeline"],
      ["Alt-← Alt-→", "back and forward, as everywhere in the browser"],
      ["b", "a note to the selected moment"],
      ["x", "time or instructions as the axis"],
      ["z", "more room for the view, or for the timeline"],
      ["l", "light or dark"],
      ["?", "these keys"],
      ["Esc", "close, or forget the selected range"],
    ],
  },
  {
    title: "In the timeline",
    keys: [
      ["w s", "zoom in and out"],
      ["a d", "pan"],
      ["0", "the whole recording"],
      ["← → ↑ ↓", "from call to call"],
      ["f", "fill the picture with the call"],
      ["r", "select the call's range"],
      ["Enter", "the call's code"],
      ["wheel", "zoom; with Shift pan, with Alt scroll"],
      ["drag", "pan; with Shift, or in the ruler, select a range"],
    ],
  },
  {
    title: "Steps (with Shift backwards)",
    keys: kSteps.map(({ key, what }): [string, string] => [key, what]),
  },
  {
    title: "In the flame graph and the call tree",
    keys: [
      ["← → ↑ ↓", "from box to box, or row to row"],
      ["Enter", "look closer; in the tree, the code"],
      ["Shift-Enter", "the code of a box"],
      ["h", "unfold the hot path of the tree"],
    ],
  },
];

export class Help {
  readonly element = h("dialog", { class: "help", attrs: { "aria-label": "Keys" } });

  constructor() {
    const groups = kGroups.map(({ title, keys }) =>
      h(
        "section",
        {},
        h("h3", {}, title),
        h(
          "dl",
          {},
          keys.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
        ),
      ),
    );
    this.element.append(h("header", {}, h("h2", {}, "Keys"), button("×", "Close", () => this.element.close())), h("div", { class: "columns" }, groups));
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}
