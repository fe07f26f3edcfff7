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

const system = window.matchMedia("(prefers-color-scheme: dark)");

function take(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  forget_colors();
}

export function begin_theme(changed: () => void): void {
  const follow = (): void => take(kept() ?? (system.matches ? "dark" : "light"));
  follow();
  system.addEventListener("change", () => {
    follow();
    changed();
  });
}

export function switch_theme(): void {
  const next: Theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  take(next);
  try {
    localStorage.setItem("hodo-theme", next);
  } catch {
    // It holds for this page then.
  }
}
