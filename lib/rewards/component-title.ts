/** The names of a score's components for readers: `search_count` is `Search count`. */
export function componentTitle(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
