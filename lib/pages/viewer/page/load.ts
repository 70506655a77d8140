/** The page's data out of the page. */
import type { ViewerData } from '../data.js';
import { unpackElement } from './unpack.js';

/** Unpacks the JSON of the element `data`. */
export async function loadData(): Promise<ViewerData> {
  const packed = document.getElementById('data')!;
  const data = (await unpackElement(packed).json()) as ViewerData;
  packed.remove();
  return data;
}
