// Which lanes there are, and where each lies.
import type { Info, ThreadInfo } from "../answers";
import type { Axis } from "../format";
import { shown } from "../names";

export interface Lane {
  thread: string;
  info: ThreadInfo;
  title: string;
  detail: string;
  process: string; // not empty: a process begins here
  open: boolean;
  depth: number; // rows that it has, as far as is known
  steps: boolean; // one row more is wanted, for instructions
  top: number;
  height: number;
}

export const kDeepest = 400;
const kFolded = 14;

export function lanes_of(info: Info): Lane[] {
  const threads = info.processes.reduce((sum, process) => sum + process.threads.length, 0);
  const lanes: Lane[] = [];
  for (const process of info.processes) {
    process.threads.forEach((thread, at) => {
      const cpu = thread.cpu === undefined ? "" : ` · processor ${thread.cpu}`;
      lanes.push({
        thread: thread.thread,
        info: thread,
        title: `${shown(thread.name || process.name, 60)}`,
        detail: `${thread.tid >= 0 ? thread.tid : thread.thread}${cpu}`,
        process: at === 0 ? `${shown(process.name, 60)} ${process.pid}` : "",
        open: threads <= 3,
        depth: 1,
        steps: false,
        top: 0,
        height: 0,
      });
    });
  }
  return lanes;
}

export function row_height(lane: Lane, text: number): number {
  return lane.open ? Math.round(text * 1.36) : Math.max(3, Math.round(text * 0.3));
}

export function rows_of(lane: Lane): number {
  return Math.min(Math.max(lane.depth, 1) + (lane.steps ? 1 : 0), lane.open ? kDeepest : kFolded);
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
  let most = 1;
  for (const process of info.processes) {
    for (const thread of process.threads) most = Math.max(most, thread.instructions);
  }
  return most;
}
