/** Creates elements. Text becomes text nodes, so that no trajectory can add markup. */
import {
  elementParts,
  Markup,
  TrustedHtml,
  type AttributeValue,
  type Nested,
} from '../../report/markup.js';

/** Functions are listeners: `onclick` listens to `click`. */
type Attributes = Readonly<Record<string, AttributeValue | ((event: Event) => void)>>;
export type Content = Attributes | Nested<Node | Markup | string>;

type TagName<S extends string> = S extends `${infer Name}.${string}` ? Name : S;
type TagElement<S extends string, Names> =
  TagName<S> extends keyof Names ? Names[TagName<S>] : never;

function fill<E extends Element>(
  node: E,
  attributes: Attributes,
  children: (Node | Markup | string)[],
): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name.slice('on'.length), value);
    else if (name === 'style')
      (node as unknown as HTMLElement).style.cssText = String(value); // the page's policy blocks the attribute
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.map((child) => (child instanceof Markup ? createNode(child) : child)));
  return node;
}

/** Trusted HTML becomes text, too: a page's scripts never parse HTML. */
const createNode = ({ name, attributes, children }: Markup): Element => {
  const texts = children.map((child) => (child instanceof TrustedHtml ? child.html : child));
  return fill(document.createElement(name), attributes, texts);
};

const builder =
  <Names>(create: (name: string) => Element) =>
  <S extends string>(selector: S, ...content: Content[]): TagElement<S, Names> => {
    const { name, attributes, children } = elementParts<Attributes, Node | Markup | string>(
      selector,
      content,
    );
    return fill(create(name), attributes, children) as TagElement<S, Names>;
  };

/**
 * Creates an HTML element, such as `h('button.ask', { type: 'submit' }, 'Ask')`.
 * Attributes that are null or false are left out.
 */
export const h = builder<HTMLElementTagNameMap>((name) => document.createElement(name));
export const svg = builder<SVGElementTagNameMap>((name) =>
  document.createElementNS('http://www.w3.org/2000/svg', name),
);

export const byId = <E extends HTMLElement = HTMLElement>(id: string): E | null =>
  document.getElementById(id) as E | null;

export function table(
  caption: string,
  columns: readonly string[],
  rows: readonly Node[],
): HTMLTableElement {
  const head = columns.map((name) => (name ? h('th', { scope: 'col' }, name) : h('td')));
  return h(
    'table',
    h('caption', caption),
    head.length > 0 && h('thead', h('tr', head)),
    h('tbody', ...rows),
  );
}

/** Makes wide content scroll, also by keyboard. */
export const scrollable = (label: string, content: Node): HTMLElement =>
  h('div.scroll', { role: 'group', 'aria-label': label, tabindex: 0 }, content);

export function select(name: string, options: readonly (readonly [value: string, text: string])[]) {
  return h(
    'select',
    { name },
    options.map(([value, text]) => h('option', { value }, text)),
  );
}

/** A control with its label. */
export const labelled = (
  label: string,
  control: Node,
  selector: 'label' | `label.${string}` = 'label',
) => h(selector, h('span', label), control);

/** The content of an element made by `packedElement`. */
export function unpackElement(id: string): Response {
  const packed = document.getElementById(id)?.textContent;
  if (packed === undefined) throw new Error(`Expected the page to carry ${id}, but it does not.`);
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')));
}
