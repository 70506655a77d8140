/** Recognises markup that can be put into a page unchanged. */

/** The allowed markup: tags, and attributes with their values. */
interface PlainMarkup {
  tags: ReadonlySet<string>;
  token: RegExp;
}

const definePlain = (tags: string, attribute: string, empty = ''): PlainMarkup => ({
  tags: new Set(tags.split(' ')),
  token: new RegExp(
    `[^<]+|<(?<opened>[a-zA-Z][a-zA-Z0-9]*)(?:${attribute})*(?<closes>${empty})>|</(?<closed>[a-zA-Z][a-zA-Z0-9]*)>`,
    'iy',
  ),
});

const PLAIN_HTML = definePlain(
  'a b caption code div details dd dl dt em h2 h3 h4 header li ol p pre span strong summary table tbody td th thead tr ul',
  ' (?:(?:class|colspan|rowspan|role|scope|tabindex|title|aria-[a-z]+)="[^"<>]*"|open|href="(?:(?:#|https://)[^"<>]*|[\\w-]+[.]html(?:#[^"<>]*)?)")',
);

/** Vega's drawings: no links, styles, events or escapes, and only internal references. */
const PLAIN_SVG = definePlain(
  'svg g path rect text tspan line circle defs clipPath linearGradient radialGradient stop title desc',
  ' (?:(?:aria-[a-z]+|xmlns:xlink)="[^"<>]*"|(?!on|href|src|style|data-)[a-z0-9-]+="(?![^"]*(?:url[(](?!#)|&#|\\\\))[^"<>]*")',
  '/?',
);

/** Whether HTML is harmless: balanced text, lists, tables; no style, script, picture. */
export const isPlainHtml = (html: string): boolean => isPlain(html, PLAIN_HTML);

/** Whether an SVG contains nothing but a drawing. */
export const isPlainSvg = (svg: string): boolean =>
  svg.startsWith('<svg ') && isPlain(svg, PLAIN_SVG);

function isPlain(text: string, { tags, token: pattern }: PlainMarkup): boolean {
  const open: string[] = [];
  const token = new RegExp(pattern);
  while (token.lastIndex < text.length) {
    const groups = token.exec(text)?.groups;
    if (!groups) return false;
    const { opened, closes, closed } = groups;
    if (opened && !tags.has(opened)) return false;
    if (opened && !closes) open.push(opened);
    if (closed && open.pop() !== closed) return false;
  }
  return open.length === 0;
}
