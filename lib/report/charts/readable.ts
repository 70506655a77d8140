/** Strings in specifications, made safe for Vega's expressions; also used in pages. */

/** Strings that Vega takes for names, although they are quoted. */
const MISREAD = ['if', ...Object.getOwnPropertyNames(Object.prototype)].join('|');
const QUOTED = new RegExp(`(?<=["'])(?:${MISREAD})(?=\\\\*["'])`, 'g');

/** A copy for Vega, in which an invisible character ends the strings that it misreads. */
export const readableSpec = <T extends object>(spec: T): T =>
  JSON.parse(JSON.stringify(spec).replace(QUOTED, '$&\u2060')) as T;
