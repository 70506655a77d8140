/** Builds regular expressions from parts. */

/** The source of a pattern that matches the text itself. */
export const escapeRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The source of a group that matches any of the patterns; their flags are ignored. */
export const anyOf = (patterns: readonly RegExp[]): string =>
  `(?:${patterns.map(({ source }) => source).join('|')})`;
