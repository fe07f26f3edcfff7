// What every view under the timeline has.
import { h, replace, type Child } from "./dom";
import type { Info } from "./answers";
import type { State } from "./state";

export interface Panel {
  name: string; // in the address
  title: string;
  element: HTMLElement;
  // Whether what is shown may be replaced by what the recording has now, while somebody looks.
  follows?(): boolean;
  // Called when it becomes visible, and when something it depends on has changed while it is.
  refresh(state: State, info: Info): void;
}

// Counts how often the recording was opened: what was asked before holds no more.
let edition = 0;
export function begin_edition(): void {
  edition += 1;
}

// The last question wins: answers that come late are dropped.
export class Turn {
  private number = 0;
  private asked = "";

  // Null if the same was asked before and nothing has to be done.
  begin(question: string): (() => boolean) | null {
    const whole = `${edition} ${question}`;
    if (whole === this.asked) return null;
    this.asked = whole;
    const mine = ++this.number;
    return () => mine === this.number;
  }

  again(): void {
    this.asked = "";
    this.number += 1;
  }
}

export function waiting(element: Element, what: string): void {
  element.classList.add("waits");
  if (!element.firstChild) replace(element, h("p", { class: "muted empty" }, `${what} …`));
}

export function failed(element: Element, error: unknown): void {
  element.classList.remove("waits");
  const text = error instanceof Error ? error.message : String(error);
  replace(element, h("p", { class: "trouble", role: "alert" }, text));
}

export function empty(element: Element, ...children: Child[]): void {
  element.classList.remove("waits");
  replace(element, h("p", { class: "muted empty" }, ...children));
}

// Asks, waits visibly, shows what came or why nothing did.
export function fill<T>(
  element: Element,
  turn: Turn,
  question: string,
  what: string,
  ask: () => Promise<T>,
  show: (answer: T) => void,
): void {
  const mine = turn.begin(question);
  if (!mine) return;
  waiting(element, what);
  ask().then(
    (answer) => {
      if (!mine()) return;
      element.classList.remove("waits");
      show(answer);
    },
    (error: unknown) => {
      if (!mine()) return;
      failed(element, error);
      turn.again();
    },
  );
}
