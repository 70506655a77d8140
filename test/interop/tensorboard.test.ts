import { describe, expect, it } from 'vitest';
import {
  crc32c,
  maskedCrc,
  encodeEvents,
  type ScalarEvent,
} from '../../lib/interop/tensorboard.js';
import { readFixture } from '../fixtures/read.js';

const reference = readFixture<{
  events: ScalarEvent[];
  file: string;
  'crc32c of 0 to 255': number;
}>('event-file.json');
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('crc32c', () => {
  it('matches RFC 3720 and TensorBoard', () => {
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
    expect(crc32c(bytesOf('123456789'))).toBe(0xe3069283);
    expect(crc32c(Uint8Array.from({ length: 256 }, (_, byte) => byte))).toBe(
      reference['crc32c of 0 to 255'],
    );
  });

  it('is masked within 32 bits', () => {
    // Empty input has the checksum 0.
    expect(maskedCrc(new Uint8Array())).toBe(0xa282ead8);
    expect(maskedCrc(bytesOf('123456789'))).toBe(0xc78ab0e5);
  });
});

it('encodeEvents writes the same bytes as TensorBoard', () => {
  expect(encodeEvents(reference.events).toString('hex')).toBe(reference.file);
});
