// Asks hodo, by JSON-RPC over the address the page came from; or the answers that a self-contained file carries.

export class Refused extends Error {}

type Key = string;

// Keys in order, so that the same question always has the same text.
export function question_key(method: string, params: Record<string, unknown>): Key {
  const sorted: Record<string, unknown> = {};
  for (const name of Object.keys(params).sort()) {
    if (params[name] !== undefined) sorted[name] = params[name];
  }
  return `${method} ${JSON.stringify(sorted)}`;
}

interface Embedded {
  texts: unknown[];
  answers: Record<Key, number>; // in texts: many questions have the same one
  lacks: string;
  begin: string;
}

// Browsers have it; the library of TypeScript 4.8 has not.
declare class DecompressionStream {
  constructor(format: "deflate");
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

let kept: Embedded | null = null;
// What a self-contained file does not have; empty where hodo answers.
export let lacks = "";
export let alone = false;
// Where a self-contained file begins, as the address has it behind the #.
export let first_place = "";

// Before anything else of this file is used: unpacks what a self-contained file carries.
export async function begin_asking(): Promise<void> {
  const element = document.getElementById("answers");
  if (!element) return;
  const packed = atob((element.textContent ?? "").trim());
  const bytes = Uint8Array.from(packed, (sign) => sign.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  kept = (await new Response(unpacked).json()) as Embedded;
  ({ lacks, begin: first_place } = kept);
  alone = true;
}

// The first part of the path is the key that hodo made for this run.
const token = location.pathname.split("/")[1] ?? "";
let last_id = 0;

export async function ask<T>(
  method: string,
  params: Record<string, unknown> = {},
  signal?: AbortSignal,
): Promise<T> {
  if (kept) {
    const number = kept.answers[question_key(method, params)];
    const answer = number === undefined ? undefined : kept.texts[number];
    if (answer === undefined) throw new Refused(`This file does not contain that. ${kept.lacks}`);
    return answer as T;
  }
  waiting += 1;
  if (waiting === 1) window.setTimeout(() => void look(), kPatience);
  try {
    return await fetched<T>(method, params, signal);
  } finally {
    waiting -= 1;
    if (waiting === 0) hear(null);
  }
}

export interface Progress {
  what: string;
  done: number;
  total: number; // 0: not known
}

const kPatience = 500; // milliseconds until one is told how far hodo has come
let waiting = 0;
let looking = false;
let hear: (progress: Progress | null) => void = () => undefined;

// Who shows how far hodo has come while an answer is waited for; null: nothing is.
export function show_progress(show: (progress: Progress | null) => void): void {
  hear = show;
}

async function look(): Promise<void> {
  if (waiting === 0 || looking) return;
  looking = true;
  try {
    const progress = await fetched<Progress>("progress", {});
    if (waiting > 0) hear(progress);
  } catch {
    // who asked hears of it
  }
  looking = false;
  if (waiting > 0) window.setTimeout(() => void look(), kPatience);
}

async function fetched<T>(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<T> {
  const id = ++last_id;
  const response = await fetch("rpc", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Hodo-Token": token },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    signal,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Refused("hodo view does not answer; it has ended, or this machine is very busy.");
  });
  const text = await response.text();
  if (!response.ok) throw new Refused(`hodo view refuses: ${response.status} ${text.slice(0, 200)}`);
  const message = JSON.parse(text) as { result?: T; error?: { message: string } };
  if (message.error) throw new Refused(message.error.message);
  return message.result as T;
}

// The same question is asked once; the oldest answers are let go.
export class Remembered {
  private readonly answers = new Map<Key, Promise<unknown>>();

  constructor(private readonly most: number) {}

  forget(): void {
    this.answers.clear();
  }

  ask<T>(method: string, params: Record<string, unknown> = {}): Promise<T> {
    const key = question_key(method, params);
    const known = this.answers.get(key);
    if (known) return known as Promise<T>;
    const answer = ask<T>(method, params);
    this.answers.set(key, answer);
    answer.catch(() => this.answers.delete(key));
    if (this.answers.size > this.most) {
      const oldest = this.answers.keys().next();
      if (!oldest.done) this.answers.delete(oldest.value);
    }
    return answer;
  }
}

export const remembered = new Remembered(64);
