// What the methods of `hodo serve` answer (docs/serve.md), as far as the page reads it.

export interface Loss {
  cause?: string;
  sentence?: string;
  sites?: { reason?: string }[];
  [key: string]: unknown;
}

export interface ThreadInfo {
  thread: string;
  tid: number;
  name: string;
  first_ns: number | null; // null: unknown
  last_ns: number | null;
  branches: number;
  instructions: number;
}

export interface ProcessInfo {
  pid: number;
  name: string;
  end?: string;
  cr3?: string[]; // of a machine's process
  threads: ThreadInfo[];
}

// That has a trace of its own, as those of a machine have.
export interface ProcessorInfo {
  processor: number;
  branches: number;
  instructions: number;
}

export interface Info {
  file: string;
  command: string;
  source: string;
  host: string;
  start_ns: number;
  duration_ns: number;
  has_time: boolean;
  instructions: number;
  branches: number;
  processes: ProcessInfo[];
  processors: ProcessorInfo[];
  losses: Loss[];
  complete: boolean;
  changed?: boolean;
  grown?: boolean;
  finished?: boolean;
  version: string;
  can: { samples_only?: boolean; [key: string]: unknown };
}

export interface Name {
  name: string;
  object: string;
  thread?: string; // of a processor's tile: whose it is
}

// One row of a lane, a list for each field of its slices.
export interface TileRow {
  depth: number;
  gap: number[]; // from the end of the one before
  length: number[];
  name: number[]; // -1: several calls, each below a pixel
  branch: number[]; // of its moment, as difference to the one before
  count: number[];
  open: number[];
}

export interface Mark {
  at: number;
  kind: string;
  text: string;
  moment: string;
}

export interface Tile {
  from: number;
  to: number;
  names: Name[];
  rows: TileRow[];
  marks: Mark[];
  coarse: boolean;
  finer_later: boolean;
  depth: number;
  more: boolean;
}

export type FlameNode = [name: number, parent: number, self: number, total: number, calls: number];

export interface Flame {
  unit: string;
  total: number;
  names: Name[];
  nodes: FlameNode[];
  pruned: { nodes: number; total: number };
  losses?: Loss[];
}

export interface TreeLevel {
  children: TreeRow[];
  more: number;
  total: { instructions: number; time_ns: number };
}

export interface TreeRow {
  name: string;
  object: string;
  calls: number;
  instructions: number;
  time_ns: number;
  self_instructions: number;
  children: boolean;
  first: string | null;
}

export interface Place {
  address: string;
  object?: string;
  function?: string;
  offset?: number;
  file?: string;
  line?: number;
}

export interface OpenCall {
  function: string;
  object: string;
  at: Place;
  entered: string | null;
  how: string;
  instructions: number;
  time: number | null;
  frames?: SourceFrame[]; // where calls were inlined at its line: these, innermost first, and the function itself
}

export interface SourceFrame {
  function: string;
  file: string;
  line: number;
  inlined: boolean;
}

export interface SceneBranch {
  number: number;
  kind: string;
  from: Place | null;
  to: Place | null;
  instructions: number;
}

export interface SceneInstruction {
  moment: string;
  at: Place;
  text: string;
}

export interface Scene {
  moment: string;
  pid: number;
  tid: number;
  time: number | null;
  ran: number; // instructions of the thread before it
  stands_at: Place | null;
  instruction?: string;
  instructions: SceneInstruction[]; // around it
  calls: OpenCall[];
  calls_left_out?: { behind: number; count: number }; // of very many: between the innermost and the outermost
  lost_before: unknown;
  before: SceneBranch[];
  after: SceneBranch[];
  steps: Record<string, { back: string | null; forward: string | null }>;
  other_threads: { moment: string; [key: string]: unknown }[];
  losses: Loss[];
}

export interface Instruction {
  address: string;
  offset: number;
  count: number;
  text: string;
  target?: string;
  target_function?: string;
  file?: string;
  line?: number;
}

export interface Block {
  number: number;
  address: string;
  count: number;
  instructions: Instruction[];
  to: { kind: string; count: number; address?: string; block?: number; function?: string }[];
}

export interface Code {
  function: string;
  object: string;
  address: string;
  size: number;
  entered: number;
  blocks: Block[];
  lines: { file: string; line: number; count: number }[];
  source: { file: string; here: boolean; newer: boolean; lines: { line: number; text: string }[] }[];
}

export interface FindingPlace {
  address: string;
  symbol?: string;
  object?: string;
  offset?: number;
  file?: string;
  line?: number;
}

export interface Finding {
  rule: string;
  grade: string;
  reason: string;
  doubtful: boolean;
  count: number;
  pid: number;
  tid: number;
  comm: string;
  kind: string;
  from: FindingPlace | null;
  to: FindingPlace | null;
  facts: { what: string; place?: FindingPlace; text?: string }[];
  code_from: { address: string; instruction: string }[];
  code_to: { address: string; instruction: string }[];
  suppression?: string;
  moment?: string;
}

export interface Findings {
  branches: number;
  complete: boolean;
  explained: number;
  findings: Finding[];
  suppressed: unknown[];
  not_checked: unknown[];
  losses: Loss[];
}

export interface Found {
  kind: "function" | "file" | "line" | "address" | "process" | "moment";
  text: string;
  detail: string;
  moment?: string;
  function?: string;
  file?: string;
  calls?: number;
}

export interface CallRow {
  number: number;
  moment: string;
  until: string;
  pid: number;
  time: number;
  duration: number | null;
  instructions: number;
  function: string;
  outcome: string;
  caller?: string;
  line?: string;
}

export interface CallList {
  functions: Name[];
  count: number;
  left_out: number;
  calls: CallRow[];
}

export interface Note {
  moment: string;
  text: string;
}
