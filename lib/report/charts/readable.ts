/** Names and strings in specifications, made safe for Vega; also used in pages. */

/** Strings that Vega takes for names, although they are quoted. */
const MISREAD = ['if', ...Object.getOwnPropertyNames(Object.prototype)].join('|');
const QUOTED = new RegExp(`(?<=["'])(?:${MISREAD})(?=\\\\*["'])`, 'g');

/** A copy for Vega, in which an invisible character ends the strings that it misreads. */
export const readableSpec = <T extends object>(spec: T): T =>
  JSON.parse(JSON.stringify(spec).replace(QUOTED, '$&\u2060')) as T;

/**
 * The column of a chart's data for a field: Vega-Lite unescapes backslashes twice and
 * writes line breaks into expressions, so similar characters replace them.
 */
export const columnName = (field: string): string =>
  field.replaceAll('\\', '＼').replace(/\p{Cc}/gu, ' ');

/** Escapes a field for Vega-Lite, which reads dots and brackets as object paths. */
export const fieldName = (field: string): string => columnName(field).replace(/[.[\]'"]/g, '\\$&');

/** The title of a field that Vega-Lite would otherwise show escaped. */
export const escapedTitle = (field: string): { title?: string } =>
  fieldName(field) === field ? {} : { title: columnName(field) };

/** The column that an escaped field of a channel refers to. */
export const unescapeField = (field: string): string => field.replace(/\\(.)/g, '$1');

/** Why a chart cannot be drawn; errors within Vega, such as TypeErrors, do not tell. */
export const drawingFault = ({ name, message }: Error): string =>
  name === 'Error'
    ? message
    : 'its Vega-Lite specification is invalid. Check it in the Vega editor.';
