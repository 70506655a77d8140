/** Elements as values, which become DOM nodes in a browser (`browser/dom.ts`) or HTML. */

export type AttributeValue = string | number | boolean | null | undefined;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export class Markup {
  constructor(
    readonly name: string,
    readonly attributes: Attributes,
    readonly children: readonly (Markup | string)[],
  ) {}
}

/** Lists are flattened; null, undefined and false are dropped. */
export type Nested<T> = T | null | undefined | false | readonly Nested<T>[];
type Child = Nested<Markup | string>;

/** Splits the arguments of `markup('p.soft', { id }, text)`; attributes are optional. */
export function elementParts<A extends object, C>(
  selector: string,
  content: readonly (A | Nested<C>)[],
) {
  const [name, ...classes] = selector.split('.');
  const [first] = content;
  const isFirst =
    typeof first === 'object' &&
    first !== null &&
    Object.getPrototypeOf(first) === Object.prototype;
  const attributes = {
    ...(classes.length > 0 && { class: classes.join(' ') }),
    ...(isFirst && first),
  } as A;
  const children = (isFirst ? content.slice(1) : content) as readonly Nested<C>[];
  return { name, attributes, children: flatten(children) };
}

function flatten<C>(child: Nested<C>): C[] {
  if (Array.isArray(child)) return (child as readonly Nested<C>[]).flatMap(flatten);
  return child === null || child === undefined || child === false ? [] : [child as C];
}

/** Makes an element; `li.segment.think` is an `li` with two classes. */
export function markup(selector: string, ...content: (Attributes | Child)[]): Markup {
  const { name, attributes, children } = elementParts<Attributes, Markup | string>(
    selector,
    content,
  );
  return new Markup(name, attributes, children);
}

/** Renders escaped HTML; attributes that are null, undefined or false are left out. */
export function markupHtml({ name, attributes, children }: Markup): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([key, value]) => (value === true ? ` ${key}` : ` ${key}="${escapeHtml(String(value))}"`));
  const content = children.map((child) =>
    typeof child === 'string' ? escapeHtml(child) : markupHtml(child),
  );
  return `<${name}${written.join('')}>${content.join('')}</${name}>`;
}

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character]);
}
