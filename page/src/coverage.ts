// What ran, by file and by function.
import type { Info } from "./answers";
import { h, replace } from "./dom";
import { count, share } from "./format";
import { base, brief, function_name, shown } from "./names";
import { fill, type Panel, Turn } from "./panel";
import { remembered } from "./rpc";
import { type State, store } from "./state";
import { meter, table } from "./table";

interface Covered {
  name: string;
  address: string;
  size: number;
  entered: number;
  blocks_hit: number;
  blocks: number;
}

interface Module {
  path: string;
  functions_hit: number;
  functions_total: number;
  blocks_hit: number;
  blocks_total: number;
  lines_hit?: number;
  lines_total?: number;
  functions: Covered[];
}

export class CoverageView implements Panel {
  readonly name = "coverage";
  readonly title = "Coverage";
  private readonly turn = new Turn();
  private readonly list = h("div", { class: "scrolls padded" });
  private readonly inside = h("div", { class: "scrolls padded" });
  readonly element = h("div", { class: "view halves" }, this.list, this.inside);

  refresh(_state: State, _info: Info): void {
    fill(this.list, this.turn, "coverage", "Looking what ran", () => remembered.ask<{ modules: Module[] }>("coverage", { parts: ["functions"], limit: 0 }), ({ modules }) => {
      const part = (one: Module): number => one.blocks_hit / Math.max(one.blocks_total, 1);
      const sorted = [...modules].sort((a, b) => part(b) - part(a));
      replace(
        this.list,
        h("h3", {}, "Files"),
        table<Module>(
          "Files",
          [
            { title: "Blocks", number: true, metered: true, sort: (one) => one.blocks_hit, cell: (one) => [meter(one.blocks_hit, one.blocks_total), share(one.blocks_hit, one.blocks_total)] },
            { title: "Functions", number: true, sort: (one) => one.functions_hit, cell: (one) => `${count(one.functions_hit)} of ${count(one.functions_total)}` },
            { title: "Lines", number: true, cell: (one) => (one.lines_total ? share(one.lines_hit ?? 0, one.lines_total) : "–") },
            { title: "File", wide: true, sort: (one) => one.path, cell: (one) => h("bdi", { title: shown(one.path, 2000) }, base(one.path)) },
          ],
          sorted,
          (one) => this.open(one),
        ),
      );
      if (sorted[0]) this.open(sorted[0]);
    });
  }

  private open(module: Module): void {
    const functions = [...module.functions].sort((a, b) => b.entered - a.entered);
    replace(
      this.inside,
      h("h3", {}, h("bdi", {}, base(module.path))),
      table<Covered>(
        `Functions of ${base(module.path)}`,
        [
          { title: "Blocks", number: true, metered: true, sort: (one) => one.blocks_hit / Math.max(one.blocks, 1), cell: (one) => [meter(one.blocks_hit, one.blocks), `${one.blocks_hit}/${one.blocks}`] },
          { title: "Entered", number: true, sort: (one) => one.entered, cell: (one) => count(one.entered) },
          { title: "Function", wide: true, sort: (one) => one.name, cell: (one) => h("bdi", { class: "fn" }, brief(function_name(one.name), 120)) },
        ],
        functions,
        (one) => store.go({ view: "code", fn: one.name, call: "" }),
      ),
    );
  }
}
