// Which lanes there are, and where each lies.
import type { Info, ProcessInfo, ProcessorInfo, ThreadInfo } from "../answers";
import type { Axis } from "../format";
import { shown } from "../names";

export interface Lane {
  thread: string; // or the processor's key
  processor: boolean; // its first row says whose turn it was
  info: Pick<ThreadInfo, "branches" | "instructions">;
  title: string;
  detail: string;
  process: string; // not empty: a process begins here, or the processors
  open: boolean;
  depth: number; // rows that it has, as far as is known
  steps: boolean; // one row more is wanted, for instructions
  top: number;
  height: number;
}

export const kDeepest = 400;
const kFolded = 14;
const kOfProcessor = 7; // rows: below who ran, the outer calls; all of them are in the threads' lanes

const kProcessor = "processor ";

function of_thread(thread: ThreadInfo, process: ProcessInfo): Omit<Lane, "open"> {
  return {
    thread: thread.thread,
    processor: false,
    info: thread,
    title: shown(thread.name || process.name, 60),
    detail: String(thread.tid >= 0 ? thread.tid : thread.thread),
    process: thread === process.threads[0] ? `${shown(process.name, 60)} ${process.pid}` : "",
    depth: 1,
    steps: false,
    top: 0,
    height: 0,
  };
}

function of_processor(one: ProcessorInfo, first: boolean): Omit<Lane, "open"> {
  return {
    thread: `${kProcessor}${one.processor}`,
    processor: true,
    info: one,
    title: `Processor ${one.processor}`,
    detail: "who ran on it",
    process: first ? "Processors" : "",
    depth: 1,
    steps: false,
    top: 0,
    height: 0,
  };
}

// Processors come first: they say who ran when.
export function lanes_of(info: Info): Lane[] {
  const threads = info.processes.flatMap((process) => process.threads.map((thread) => of_thread(thread, process)));
  const processors = info.processors.map((one, at) => of_processor(one, at === 0));
  return [
    ...processors.map((lane) => ({ ...lane, open: processors.length <= 4 })),
    ...threads.map((lane) => ({ ...lane, open: threads.length <= 3 })),
  ];
}

export function is_processor(thread: string): boolean {
  return thread.startsWith(kProcessor);
}

// Of whom a lane's pieces are, as the question says it.
export function asked_of(thread: string): { thread: string } | { processor: number } {
  return is_processor(thread) ? { processor: Number(thread.slice(kProcessor.length)) } : { thread };
}

export function row_height(lane: Lane, text: number): number {
  return lane.open ? Math.round(text * 1.36) : Math.max(3, Math.round(text * 0.3));
}

export function rows_of(lane: Lane): number {
  const most = !lane.open ? kFolded : lane.processor ? kOfProcessor : kDeepest;
  return Math.min(Math.max(lane.depth, 1) + (lane.steps ? 1 : 0), most);
}

// Gives each lane its place; returns how high all are.
export function lay_out(lanes: Lane[], text: number): number {
  let top = 0;
  for (const lane of lanes) {
    lane.top = top;
    const least = Math.round(text * (lane.open ? 3.4 : 2.9));
    lane.height = Math.max(least, rows_of(lane) * row_height(lane, text) + Math.round(text * 1.1));
    top += lane.height;
  }
  return top;
}

export function length_of(info: Info, axis: Axis): number {
  if (axis === "time") return Math.max(1, info.duration_ns);
  let most = Math.max(1, ...info.processors.map((one) => one.instructions));
  for (const process of info.processes) {
    for (const thread of process.threads) most = Math.max(most, thread.instructions);
  }
  return most;
}
