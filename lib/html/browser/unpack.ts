/** The content of the element that `packedElement` has made: compressed by gzip, in base64. */
export function unpackElement(id: string): Response {
  const packed = document.getElementById(id)?.textContent;
  if (packed === undefined) throw new Error(`Expected the page to carry ${id}, but it does not.`);
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')));
}
