/** What a page carries, out of the page. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The content of an element made by `packedElement`: compressed by gzip, in base64. */
export function unpackElement(element: Element): Response {
  const packed = new Blob([bytesOf(element.textContent)]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip')));
}
