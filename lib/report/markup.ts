/**
 * Elements as values, which become HTML, or DOM nodes in a browser
 * (`pages/browser/dom.ts`). All HTML is made here, so that all text is escaped.
 */

export type AttributeValue = string | number | boolean | null | undefined;
export type Attributes = Readonly<Record<string, AttributeValue>>;

export class Markup {
  constructor(
    readonly name: string,
    readonly attributes: Attributes,
    readonly children: readonly Child[],
  ) {}
}

/** HTML to insert as it is: a script, a style, or what Vega or markdown-it wrote. */
export class TrustedHtml {
  constructor(readonly html: string) {}
}
export const trustedHtml = (html: string): TrustedHtml => new TrustedHtml(html);

type Child = Markup | TrustedHtml | string;

/** Lists are flattened; null, undefined and false are dropped. */
export type Nested<T> = T | null | undefined | false | readonly Nested<T>[];
export type Content = Nested<Child>;

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
export function markup(selector: string, ...content: (Attributes | Content)[]): Markup {
  const { name, attributes, children } = elementParts<Attributes, Child>(selector, content);
  return new Markup(name, attributes, children);
}

/** Elements without content and end tag. */
const VOID = new Set(['br', 'hr', 'img', 'input', 'link', 'meta']);

/** Renders escaped HTML; attributes that are null, undefined or false are left out. */
export function markupHtml(content: Content): string {
  return flatten(content).map(childHtml).join('');
}

function childHtml(child: Child): string {
  if (typeof child === 'string') return escapeHtml(child);
  if (child instanceof TrustedHtml) return child.html;
  const { name, attributes, children } = child;
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([key, value]) => (value === true ? ` ${key}` : ` ${key}="${escapeHtml(String(value))}"`));
  const start = `<${name}${written.join('')}>`;
  return VOID.has(name) ? start : `${start}${markupHtml(children)}</${name}>`;
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for elements and for attributes, which are in double quotes. */
const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => ESCAPES[character]);
