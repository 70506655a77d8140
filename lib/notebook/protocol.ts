/**
 * Messages of the Jupyter wire protocol 5.3: JSON parts, signed with HMAC-SHA256, behind a delimiter.
 * https://jupyter-client.readthedocs.io/en/latest/messaging.html#the-wire-protocol
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const DELIMITER = '<IDS|MSG>';

const headerSchema = z.looseObject({ msg_id: z.string(), msg_type: z.string(), session: z.string() });
const parentSchema = z.looseObject({ msg_id: z.string().optional() });

export interface Message {
  header: z.infer<typeof headerSchema>;
  parent: z.infer<typeof parentSchema>;
  content: Record<string, unknown>;
}

/** Where a kernel listens and the key that signs its messages; the kernel reads it from a file. */
export interface ConnectionInfo {
  transport: 'tcp';
  ip: string;
  key: string;
  signature_scheme: 'hmac-sha256';
  shell_port: number;
  iopub_port: number;
  control_port: number;
  stdin_port: number;
  hb_port: number;
}

/** A request of a new id. */
export function createMessage(type: string, session: string, content: Record<string, unknown>): Message {
  const header = {
    msg_id: randomUUID(),
    msg_type: type,
    session,
    username: 'parallelsearch',
    date: new Date().toISOString(),
    version: '5.3',
  };
  return { header, parent: {}, content };
}

function sign(key: string, parts: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}

/** The frames of a message, signed. */
export function encodeMessage(message: Message, key: string): string[] {
  const parts = [message.header, message.parent, {}, message.content].map((part) => JSON.stringify(part));
  return [DELIMITER, sign(key, parts), ...parts];
}

/** Reads frames back; throws when the delimiter is missing or the signature is not that of `key`. */
export function decodeMessage(frames: readonly Buffer[], key: string): Message {
  const start = frames.findIndex((frame) => frame.toString() === DELIMITER);
  if (start < 0 || frames.length < start + 6) {
    throw new Error(`Expected a delimiter and 5 frames after it, but got ${frames.length} frames.`);
  }
  const parts = frames.slice(start + 2, start + 6);
  const expected = Buffer.from(sign(key, parts));
  const signature = frames[start + 1];
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw new Error('Expected a message signed with the key of this kernel, but its signature differs.');
  }
  const [header, parent, , content] = parts.map((part): unknown => JSON.parse(part.toString()));
  return {
    header: headerSchema.parse(header),
    parent: parentSchema.parse(parent),
    content: z.record(z.string(), z.unknown()).parse(content),
  };
}
