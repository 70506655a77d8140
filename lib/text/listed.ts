/** `A, B and C`. */
export const listed = (names: readonly string[]): string =>
  new Intl.ListFormat('en-GB').format(names);
