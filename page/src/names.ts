// Names come from the recorded program and may be anything.

const kLongest = 10_000;

// What would move the text around it, or cannot be seen: C0 and C1 controls, marks of direction, blanks without width,
// separators of lines, halves of surrogate pairs.
// eslint-disable-next-line no-control-regex
const kUnseen =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// A name as the page shows it: every sign is seen, and there are not too many of them.
export function shown(name: string, longest = kLongest): string {
  const cut = name.length > longest ? name.slice(0, longest) : name;
  const seen = cut.replace(kUnseen, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`);
  return name.length > longest ? `${seen}… (${name.length.toLocaleString("en")} characters)` : seen;
}

// "/usr/lib/libc.so.6" is "libc.so.6".
export function base(path: string): string {
  return shown(path.slice(path.lastIndexOf("/") + 1));
}

// A function's name for a column: without the parameters and templates that make C++ names long.
export function brief(name: string, longest = 80): string {
  const text = shown(name);
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

export function function_name(name: string): string {
  return name === "" ? "[no name]" : shown(name);
}
