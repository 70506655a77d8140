/** Nearly valid inputs: a valid one with a few changes to its JSON or its bytes. */
import fc from 'fast-check';

const DELETED: unique symbol = Symbol('deleted');
type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Holder = Record<string | number, Json>;

const ODD_NUMBERS = [-1, 0, 0.5, 1e308, 2 ** 31, 2 ** 53];
const ODD_TEXTS = [
  '',
  '-',
  '__proto__',
  '\u0000',
  '</search>',
  '<information>',
  '<answer>',
  '<eos>',
];
const junk: fc.Arbitrary<Json | typeof DELETED> = fc.oneof(
  fc.constant(DELETED),
  fc.constantFrom<Json>(...ODD_NUMBERS, ...ODD_TEXTS, null, true, [], {}, [[]]),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
);

/** Every place in a value: its object or list, and its key. */
function placesIn(value: Json): (readonly [holder: Holder, key: string])[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((key) => [[holder, key] as const, ...placesIn(holder[key])]);
}

const jsonEdits = fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 3 });

function editJson(seed: Json, edits: readonly (readonly [number, Json | typeof DELETED])[]): Json {
  const root: Holder = { value: structuredClone(seed) };
  for (const [at, replacement] of edits) {
    const places = placesIn(root);
    if (places.length === 0) break;
    const [holder, key] = places[at % places.length];
    if (replacement === DELETED) delete holder[key];
    else holder[key] = structuredClone(replacement);
  }
  return root.value ?? null;
}

const byteEdits = fc.array(
  fc.record({
    at: fc.nat(),
    kind: fc.constantFrom('flip', 'cut', 'insert', 'repeat'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
  }),
  { minLength: 1, maxLength: 4 },
);
type ByteEdits = typeof byteEdits extends fc.Arbitrary<infer E> ? E : never;

function editBytes(seed: Uint8Array, edits: ByteEdits): Buffer {
  let bytes = Buffer.from(seed);
  for (const { at, kind, bytes: extra } of edits) {
    const place = at % (bytes.length + 1);
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
    const rest = kind === 'flip' ? after.subarray(extra.length) : after;
    if (kind === 'cut') bytes = Buffer.from(before);
    else bytes = Buffer.concat(kind === 'repeat' ? [bytes, after] : [before, extra, rest]);
  }
  return bytes;
}

export const textBytes = (text: string): Buffer => Buffer.from(text);
export const jsonBytes = (value: unknown): Buffer => textBytes(JSON.stringify(value) ?? '');

/** Bytes with changes, and sometimes arbitrary bytes. */
export function nearlyBytes(...seeds: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  const edited = fc.tuple(fc.constantFrom(...seeds), byteEdits).map((all) => editBytes(...all));
  const any = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 9, arbitrary: edited }, { weight: 1, arbitrary: any });
}

/** JSON with changed values or text, and sometimes arbitrary JSON. */
export function nearlyJson(...seeds: readonly unknown[]): fc.Arbitrary<Buffer> {
  const edited = fc.tuple(fc.constantFrom(...(seeds as Json[])), jsonEdits);
  return fc.oneof(
    { weight: 8, arbitrary: edited.map((all) => jsonBytes(editJson(...all))) },
    { weight: 2, arbitrary: nearlyBytes(...seeds.map(jsonBytes)) },
    { weight: 1, arbitrary: fc.jsonValue().map(jsonBytes) },
  );
}

/** A few lines of changed JSON. */
export const nearlyJsonLines = (...seeds: readonly unknown[]): fc.Arbitrary<Buffer> =>
  fc
    .array(nearlyJson(...seeds), { minLength: 1, maxLength: 3 })
    .map((lines) => Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
