// The scene at a moment: asked for once, by however many views.
import type { Scene } from "./answers";
import { remembered } from "./rpc";

export function scene_at(at: string): Promise<Scene> {
  return remembered.ask<Scene>("scene", { at });
}
