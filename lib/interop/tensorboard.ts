/**
 * Encodes TensorBoard event files: scalars as protocol buffers (`event.proto`,
 * `summary.proto`) in TFRecord frames.
 */

/** The scalars of a step by tag. */
export interface ScalarEvent {
  step: number;
  /** Seconds since 1970. */
  wallTime: number;
  scalars: Readonly<Record<string, number>>;
}

/** Castagnoli's polynomial, reflected. */
const POLYNOMIAL = 0x82f63b78;
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});

/** CRC-32C; Node's `crc32` uses another polynomial. */
export const crc32c = (bytes: Uint8Array): number =>
  ~bytes.reduce((crc, byte) => CRC_TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8), 0xffffffff) >>> 0;

/** TFRecord's masked checksum. */
export const maskedCrc = (bytes: Uint8Array): number => {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
};

function encodeNumber(kind: 'UInt32' | 'BigUInt64' | 'Float' | 'Double', value: number): Buffer {
  const bytes = Buffer.alloc(kind === 'UInt32' || kind === 'Float' ? 4 : 8);
  if (kind === 'BigUInt64') bytes.writeBigUInt64LE(BigInt(value));
  else bytes[`write${kind}LE`](value);
  return bytes;
}

/** Length, its checksum, the bytes, their checksum. */
function record(bytes: Uint8Array): Buffer {
  const length = encodeNumber('BigUInt64', bytes.length);
  const checksum = (part: Uint8Array): Buffer => encodeNumber('UInt32', maskedCrc(part));
  return Buffer.concat([length, checksum(length), bytes, checksum(bytes)]);
}

/** Wire types. */
const [VARINT, DOUBLE, BYTES, FLOAT] = [0, 1, 2, 5];

function varint(value: number): Buffer {
  const bytes = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

const field = (number: number, kind: number, ...content: Uint8Array[]): Buffer =>
  Buffer.concat([varint((number << 3) | kind), ...content]);

const bytesField = (number: number, content: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(content);
  return field(number, BYTES, varint(bytes.length), bytes);
};

const wallTimeField = (seconds: number): Buffer =>
  field(1, DOUBLE, encodeNumber('Double', seconds));

function encodeEvent({ step, wallTime, scalars }: ScalarEvent): Buffer {
  const values = Object.entries(scalars).map(([tag, value]) => {
    const scalar = [bytesField(1, tag), field(2, FLOAT, encodeNumber('Float', value))];
    return bytesField(1, Buffer.concat(scalar));
  });
  // Fields that are 0 are omitted.
  const parts = [wallTimeField(wallTime), ...(step === 0 ? [] : [field(2, VARINT, varint(step))])];
  return Buffer.concat([...parts, bytesField(5, Buffer.concat(values))]);
}

/** The content of an event file, whose name must contain `tfevents`. */
export function encodeEvents(events: readonly ScalarEvent[]): Buffer {
  const start = wallTimeField(events[0]?.wallTime ?? 0);
  const version = Buffer.concat([start, bytesField(3, 'brain.Event:2')]);
  return Buffer.concat([version, ...events.map(encodeEvent)].map(record));
}
