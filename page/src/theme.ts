// Light or dark: as the system says, until somebody switches.
import { forget_colors } from "./colors";

type Theme = "light" | "dark";

function kept(): Theme | null {
  try {
    const word = localStorage.getItem("hodo-theme");
    return word === "light" || word === "dark" ? word : null;
  } catch {
    return null; // a browser may forbid it
  }
}

export function begin_theme(changed: () => void): void {
  const theme = kept();
  if (theme) document.documentElement.dataset.theme = theme;
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    forget_colors();
    changed();
  });
}

export function switch_theme(): void {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--scheme").trim() === "dark";
  const next: Theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  forget_colors();
  try {
    localStorage.setItem("hodo-theme", next);
  } catch {
    // It holds for this page then.
  }
}
