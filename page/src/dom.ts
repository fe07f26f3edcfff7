// Makes elements. Every word of a recording reaches the document as a text node or an attribute that holds
// text: nothing here, or anywhere in the page, parses markup but graph.ts, which keeps a list of what it takes.

export type Child = Node | string | number | null | undefined | false | Child[];

export interface Props {
  class?: string;
  id?: string;
  title?: string;
  role?: string;
  tabindex?: number;
  disabled?: boolean;
  hidden?: boolean;
  // Attributes whose values are text, such as aria-label.
  attrs?: Record<string, string>;
  on?: { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
}

export function append(parent: Node, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(document.createTextNode(String(child)));
    }
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props.class) element.className = props.class;
  if (props.id) element.id = props.id;
  if (props.title) element.title = props.title;
  if (props.role) element.setAttribute("role", props.role);
  if (props.tabindex !== undefined) element.tabIndex = props.tabindex;
  if (props.hidden) element.hidden = true;
  if (props.disabled) element.setAttribute("disabled", "");
  for (const [name, value] of Object.entries(props.attrs ?? {})) element.setAttribute(name, value);
  for (const [name, listener] of Object.entries(props.on ?? {})) {
    element.addEventListener(name, listener as EventListener);
  }
  append(element, children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

export function button(label: string, title: string, click: () => void, props: Props = {}): HTMLButtonElement {
  const attrs = { type: "button", "aria-label": title, ...props.attrs };
  return h("button", { ...props, title, attrs, on: { ...props.on, click } }, label);
}

export interface Choice<T extends string> {
  value: T;
  label: string;
  title?: string;
}

// A row of buttons of which one is pressed.
export function choices<T extends string>(
  name: string,
  list: Choice<T>[],
  chosen: T,
  choose: (value: T) => void,
): HTMLElement {
  const buttons = list.map((one) =>
    h(
      "button",
      {
        class: one.value === chosen ? "on" : "",
        title: one.title ?? one.label,
        attrs: { type: "button", "aria-pressed": String(one.value === chosen), "data-value": one.value },
        on: { click: () => choose(one.value) },
      },
      one.label,
    ),
  );
  return h("div", { class: "choices", role: "group", attrs: { "aria-label": name } }, buttons);
}

// Said by screen readers; the canvases' other half.
export function announce(text: string): void {
  const region = document.getElementById("live");
  if (region) region.textContent = text;
}
