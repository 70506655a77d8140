import { describe, expect, it } from 'vitest';
import { createMessage, decodeMessage, encodeMessage } from '../../lib/notebook/protocol.js';

const frames = (key: string, ...identity: string[]): Buffer[] =>
  [...identity, ...encodeMessage(createMessage('execute_request', 's', { code: 'π' }), key)].map((f) =>
    Buffer.from(f),
  );

describe('wire protocol', () => {
  it('reads back what it wrote, behind any number of identities', () => {
    const message = decodeMessage(frames('key', 'a', 'b'), 'key');
    expect(message.header.msg_type).toBe('execute_request');
    expect(message.content).toEqual({ code: 'π' });
  });

  it('signs with HMAC-SHA256 over the four parts', () => {
    const message = { header: { msg_id: 'i', msg_type: 't', session: 's' }, parent: {}, content: {} };
    // printf '{"msg_id":"i","msg_type":"t","session":"s"}{}{}{}' | openssl dgst -sha256 -hmac key
    expect(encodeMessage(message, 'key')[1]).toBe(
      'd4d734880e74b1369b724dc3a893dd35ea2b4c14f557dcc147e51ad5c2e46851',
    );
  });

  it('refuses a message of another key, a changed one and one that is cut off', () => {
    expect(() => decodeMessage(frames('key'), 'other')).toThrow('signature differs');
    const changed = frames('key');
    changed[5] = Buffer.from('{"code":"rm"}');
    expect(() => decodeMessage(changed, 'key')).toThrow('signature differs');
    expect(() => decodeMessage(frames('key').slice(0, 4), 'key')).toThrow('delimiter');
  });
});
