/** Elements from names, attributes and children. Text always becomes a text node, so that no trajectory can add markup. */
import type { Markup } from '../../../html/markup.js';

export type Child = Node | string | null;
export type Attributes = Record<string, string | number | boolean | null>;

function fill<E extends Element>(node: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** An HTML element; attributes that are null or false are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(name), attributes, children);
}

/** The element that a markup describes. */
export function nodeOf({ name, attributes, children }: Markup): HTMLElement {
  const nodes = children.map((child) =>
    child === null || typeof child === 'string' ? child : nodeOf(child),
  );
  return element(name, attributes, ...nodes);
}

/** The same for SVG. */
export function svgElement<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

/** A number to two places with its sign; zero has none. */
export function signed(value: number): string {
  const figure = Math.abs(value).toFixed(2);
  return Number(figure) === 0 ? figure : `${value < 0 ? '−' : '+'}${figure}`;
}
