// Notes that stay with the recording, beside its file.
import type { Note } from "./answers";
import { announce, button, h, replace } from "./dom";
import { shown } from "./names";
import type { Panel } from "./panel";
import { alone, ask } from "./rpc";
import { store } from "./state";

interface Notes {
  notes: Note[];
}

export class NotesView implements Panel {
  readonly name = "notes";
  readonly title = "Notes";
  private readonly body = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view" }, this.body);
  private notes: Note[] = [];
  private loaded = false;
  private trouble = "";

  refresh(): void {
    if (!this.loaded) void this.load();
    this.draw();
  }

  async load(): Promise<void> {
    this.loaded = true;
    try {
      this.notes = (await ask<Notes>("notes")).notes ?? [];
    } catch (error) {
      this.trouble = alone ? "" : error instanceof Error ? error.message : String(error);
    }
    this.draw();
  }

  // Opens the view with an empty note at the moment.
  begin(moment: string): void {
    if (!this.notes.some((one) => one.moment === moment)) this.notes.push({ moment, text: "" });
    this.draw();
    this.body.querySelector<HTMLTextAreaElement>(`textarea[data-moment="${CSS.escape(moment)}"]`)?.focus();
  }

  private async keep(): Promise<void> {
    try {
      await ask("notes", { set: this.notes.filter((one) => one.text !== "") });
      this.trouble = "";
      announce("Kept.");
    } catch (error) {
      this.trouble = error instanceof Error ? error.message : String(error);
      this.draw();
    }
  }

  private draw(): void {
    replace(
      this.body,
      this.trouble !== "" && h("p", { class: "trouble", role: "alert" }, shown(this.trouble, 500)),
      this.notes.length === 0 && h("p", { class: "muted empty" }, "No notes yet. Press b at a moment to write one; it is kept beside the recording."),
      this.notes.map((note) =>
        h(
          "div",
          { class: "note" },
          button(note.moment, `Go to ${note.moment}`, () => store.go({ at: note.moment, view: "where" }), { class: "link moment" }),
          this.field(note),
          !alone && button("×", `Delete the note at ${note.moment}`, () => this.drop(note)),
        ),
      ),
    );
  }

  private field(note: Note): HTMLElement {
    const field = h("textarea", {
      attrs: { rows: "2", "data-moment": note.moment, "aria-label": `Note at ${note.moment}`, placeholder: "What happens here?" },
      on: {
        change: () => {
          note.text = field.value;
          void this.keep();
        },
      },
    });
    field.value = note.text;
    field.readOnly = alone;
    return field;
  }

  private drop(note: Note): void {
    this.notes = this.notes.filter((one) => one !== note);
    void this.keep();
    this.draw();
  }
}
