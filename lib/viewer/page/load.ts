/** The page's data out of the page. */
import type { ViewerData } from '../data.js';

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Unpacks the element `data`: JSON, compressed by gzip, in base64. */
export async function loadData(): Promise<ViewerData> {
  const packed = document.getElementById('data');
  const stream = new Blob([bytesOf(packed?.textContent ?? '')])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  const data = (await new Response(stream).json()) as ViewerData;
  packed?.remove();
  return data;
}
