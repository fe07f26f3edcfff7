// Tables that are sorted by their heads and show so many rows as one can look at.
import { button, h, replace, type Child } from "./dom";

export interface Column<T> {
  title: string;
  number?: boolean;
  metered?: boolean; // there is a meter beside the number
  wide?: boolean;
  sort?: (row: T) => number | string;
  cell: (row: T) => Child;
}

const kAtOnce = 400;

export function table<T>(name: string, columns: Column<T>[], rows: T[], open?: (row: T) => void): HTMLElement {
  const element = h("div", { class: "table" });
  let by = -1;
  let most = kAtOnce;
  const sorted = (): T[] => {
    const key = columns[by]?.sort;
    if (!key) return rows;
    return [...rows].sort((a, b) => {
      const left = key(a);
      const right = key(b);
      return typeof left === "number" && typeof right === "number" ? right - left : String(left).localeCompare(String(right));
    });
  };
  const draw = (): void => {
    const heads = columns.map((column, at) =>
      h(
        "th",
        { class: column.wide ? "wide" : "", attrs: { scope: "col", "aria-sort": by === at ? (column.number ? "descending" : "ascending") : "none" } },
        column.sort
          ? button(column.title, `Sort by ${column.title}`, () => {
              by = at;
              draw();
            })
          : column.title,
      ),
    );
    const body = sorted()
      .slice(0, most)
      .map((row) =>
        h(
          "tr",
          open
            ? {
                class: "opens",
                tabindex: 0,
                on: {
                  click: () => open(row),
                  keydown: (event) => {
                    if (event.key !== "Enter" || event.target !== event.currentTarget) return;
                    event.preventDefault();
                    open(row);
                  },
                },
              }
            : {},
          columns.map((column) => h("td", { class: column.metered ? "number metered" : column.number ? "number" : column.wide ? "wide" : "" }, column.cell(row))),
        ),
      );
    const rest = rows.length - most;
    replace(
      element,
      h("table", { attrs: { "aria-label": name } }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, body)),
      rest > 0 &&
        button(`Show ${Math.min(rest, kAtOnce * 5).toLocaleString("en")} more of ${rest.toLocaleString("en")}`, "Show more rows", () => {
          most += kAtOnce * 5;
          draw();
        }),
    );
  };
  draw();
  return element;
}

export function meter(part: number, whole: number): HTMLElement {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${whole > 0 ? Math.min(100, (100 * part) / whole) : 0}%`;
  return h("span", { class: "meter", attrs: { "aria-hidden": "true" } }, bar);
}

export function facts(list: [string, Child][]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    list.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}
