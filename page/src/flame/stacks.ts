// A call tree for drawing, from one answer or from two that are compared.
import type { Flame } from "../answers";
import { share } from "../format";
import { base } from "../names";

export interface Node {
  name: string;
  object: string;
  parent: Node | null;
  children: Node[];
  depth: number;
  self: number;
  total: number;
  calls: number;
  before: number; // total on the other side of a comparison
  from: number; // where it is drawn, from 0 to 1
  to: number;
}

export interface Stacks {
  root: Node;
  total: number;
  other: number; // total of the other side; 0 where nothing is compared
  sides: [before: string, now: string]; // what the two are called
  unit: string;
  depth: number;
}

function made(name: string, object: string, parent: Node | null): Node {
  const depth = parent ? parent.depth + 1 : 0;
  return { name, object, parent, children: [], depth, self: 0, total: 0, calls: 0, before: 0, from: 0, to: 0 };
}

function nodes_of(answer: Flame): Node[] {
  const nodes: Node[] = [];
  answer.nodes.forEach(([name, parent, self, total, calls], at) => {
    const known = answer.names[name] ?? { name: "", object: "" };
    const above = at > 0 ? nodes[parent] ?? null : null;
    const node = made(at === 0 ? "all" : known.name, at === 0 ? "" : known.object, above);
    Object.assign(node, { self, total, calls });
    above?.children.push(node);
    nodes.push(node);
  });
  return nodes;
}

// Gives every node its place: children beside each other, the largest first.
function place(root: Node, size: (node: Node) => number): number {
  root.from = 0;
  root.to = 1;
  let deepest = 0;
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    deepest = Math.max(deepest, node.depth);
    const whole = Math.max(size(node), node.children.reduce((sum, child) => sum + size(child), 0), 1e-12);
    let at = node.from;
    node.children.sort((a, b) => size(b) - size(a));
    for (const child of node.children) {
      child.from = at;
      at += ((node.to - node.from) * size(child)) / whole;
      child.to = at;
      open.push(child);
    }
  }
  return deepest;
}

export function stacks_of(answer: Flame): Stacks {
  const root = nodes_of(answer)[0] ?? made("all", "", null);
  const depth = place(root, (node) => node.total);
  return { root, total: answer.total, other: 0, sides: ["", ""], unit: answer.unit, depth };
}

// The same function of two recordings may lie in files of the same name in different folders.
function identity(node: Node): string {
  return `${base(node.object)}\n${node.name}`;
}

// One tree of both: as wide as the larger share, so that what only one side has is seen, too.
export function compared(before: Flame, now: Flame, sides: [string, string]): Stacks {
  const root = nodes_of(now)[0] ?? made("all", "", null);
  const other = nodes_of(before)[0];
  if (other) {
    const open: [Node, Node][] = [[root, other]];
    for (let pair = open.pop(); pair; pair = open.pop()) {
      const [into, from] = pair;
      into.before = from.total;
      const known = new Map(into.children.map((child) => [identity(child), child]));
      for (const child of from.children) {
        let same = known.get(identity(child));
        if (!same) {
          same = made(child.name, child.object, into);
          into.children.push(same);
        }
        open.push([same, child]);
      }
    }
  }
  const whole = Math.max(now.total, 1);
  const whole_before = Math.max(before.total, 1);
  const depth = place(root, (node) => Math.max(node.total / whole, node.before / whole_before));
  return { root, total: now.total, other: before.total, sides, unit: now.unit, depth };
}

// How its share changed, from -1 to 1, as part of the larger of both.
export function change_of(node: Node, stacks: Stacks): number {
  const now = node.total / Math.max(stacks.total, 1);
  const before = node.before / Math.max(stacks.other, 1);
  return now - before;
}

export function change_text(node: Node, stacks: Stacks): string {
  const [before, now] = stacks.sides;
  return `${share(node.before, stacks.other)} ${before}, ${share(node.total, stacks.total)} ${now}`;
}
