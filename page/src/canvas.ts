// A canvas that is as fine as the screen, and text in boxes.

export interface Surface {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width: number; // in CSS pixels
  height: number;
}

export function surface_of(canvas: HTMLCanvasElement): Surface {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no canvas");
  return { canvas, context, width: 0, height: 0 };
}

export function fit(surface: Surface, width: number, height: number): void {
  const fine = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * fine));
  const high = Math.max(1, Math.round(height * fine));
  if (surface.canvas.width !== wide) surface.canvas.width = wide;
  if (surface.canvas.height !== high) surface.canvas.height = high;
  surface.canvas.style.width = `${width}px`;
  surface.canvas.style.height = `${height}px`;
  surface.width = width;
  surface.height = height;
  surface.context.setTransform(fine, 0, 0, fine, 0, 0);
  surface.context.direction = "ltr";
}

// The size of the page's text in pixels: what rows are made from, so that large screens have large rows.
export function text_size(): number {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) || 14;
}

export const kMono = 'ui-monospace, "SFMono-Regular", "JetBrains Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace';
export const kSans = 'system-ui, -apple-system, "Segoe UI", "Inter", "Noto Sans", "DejaVu Sans", sans-serif';

// How much of a text fits, without measuring it each time: the font's signs are about equally wide.
export function fitting(text: string, room: number, sign: number): string {
  const most = Math.floor(room / sign);
  if (text.length <= most) return text;
  return most < 3 ? "" : `${text.slice(0, most - 1)}…`;
}

// Calls `draw` once before the next picture, however often it is asked.
export function once_a_frame(draw: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}
