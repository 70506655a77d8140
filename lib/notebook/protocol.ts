/**
 * Messages of the Jupyter wire protocol 5.3: JSON parts, signed with HMAC-SHA256, behind a delimiter.
 * https://jupyter-client.readthedocs.io/en/latest/messaging.html#the-wire-protocol
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const DELIMITER = '<IDS|MSG>';

const messageSchema = z.object({
  header: z.looseObject({ msg_id: z.string(), msg_type: z.string(), session: z.string() }),
  parent: z.looseObject({ msg_id: z.string().optional() }),
  content: z.record(z.string(), z.unknown()),
});
export type Message = z.infer<typeof messageSchema>;

/** A request of a new id. */
export function createMessage(msg_type: string, session: string, content: Message['content']): Message {
  const about = { username: 'parallelsearch', date: new Date().toISOString(), version: '5.3' };
  return { header: { msg_id: randomUUID(), msg_type, session, ...about }, parent: {}, content };
}

function sign(key: string, parts: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

/** The frames of a message, signed. */
export function encodeMessage({ header, parent, content }: Message, key: string): string[] {
  const parts = [header, parent, {}, content].map((part) => JSON.stringify(part));
  return [DELIMITER, sign(key, parts), ...parts];
}

/** Reads frames back; throws when the delimiter is missing or the signature is not that of `key`. */
export function decodeMessage(frames: readonly Buffer[], key: string): Message {
  const start = frames.findIndex((frame) => frame.toString() === DELIMITER);
  if (start < 0 || frames.length < start + 6)
    throw new Error(`Expected a delimiter and 5 frames after it, but got ${frames.length} frames.`);
  const [signature, ...parts] = frames.slice(start + 1, start + 6);
  const expected = Buffer.from(sign(key, parts));
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
    throw new Error('Expected a message signed with the key of this kernel, but its signature differs.');
  const [header, parent, , content] = parts.map((part): unknown => JSON.parse(part.toString()));
  return messageSchema.parse({ header, parent, content });
}
