/** Elements as plain values: the page makes nodes of them, whatever has no document HTML. */
import type { Attributes } from '../pages/viewer/page/dom.js';

export interface Markup {
  name: keyof HTMLElementTagNameMap;
  /** Those that are null or false are left out. */
  attributes: Attributes;
  children: readonly MarkupChild[];
}
export type MarkupChild = Markup | string | null;

export function markup(
  name: Markup['name'],
  attributes: Attributes = {},
  ...children: MarkupChild[]
): Markup {
  return { name, attributes, children };
}
