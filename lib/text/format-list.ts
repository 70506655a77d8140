/** `A, B and C`. */
export const formatList = (names: readonly string[]): string =>
  new Intl.ListFormat('en-GB').format(names);
