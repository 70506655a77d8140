import { createRegistry } from '../../registry.js';
import type { AnyPolicy } from '../chat-policy.js';
import { openChatPolicy } from './openai/chat.js';
import { openCompletionsPolicy } from './openai/completions.js';
import type { RemoteOptions } from './openai/server.js';

interface PolicyKind {
  /** What its addresses start with, before the colon. */
  readonly name: string;
  /** @param address the whole address, `NAME:` included */
  readonly open: (address: string, options: RemoteOptions) => AnyPolicy | Promise<AnyPolicy>;
}

const openOverHttp: PolicyKind['open'] = (address, options) =>
  openCompletionsPolicy(address, { ...options, token: process.env.POLICY_TOKEN });

/** The kinds of remote policy. To add one, write its file and list it here. */
export const POLICY_KINDS = createRegistry<PolicyKind>('kind of policy', [
  { name: 'http', open: openOverHttp },
  { name: 'https', open: openOverHttp },
  {
    name: 'chat',
    open: (address, options) => {
      const url = address.slice('chat:'.length);
      if (!/^https?:\/\/./i.test(url))
        throw new Error(`Expected an address such as chat:https://HOST/v1, but got ${address}.`);
      return openChatPolicy(url, { ...options, token: process.env.POLICY_TOKEN });
    },
  },
]);

/**
 * Opens the policy at an address.
 * @throws Error for an unknown kind of address, and the errors of the kind's `open`
 */
export async function openRemotePolicy(
  address: string,
  options: RemoteOptions = {},
): Promise<AnyPolicy> {
  const kind = address.slice(0, Math.max(0, address.indexOf(':'))).toLowerCase();
  if (POLICY_KINDS.has(kind)) return POLICY_KINDS.get(kind).open(address, options);
  throw new Error(
    `Expected an address that begins with ${POLICY_KINDS.names().join(':, ')}:, but got ${address}. Give a folder with weights as the model.`,
  );
}
