/**
 * Your own remote policy: a server that continues token ids. `GET /model` returns
 * `maxLength` and `tokenizer` (the JSON of a tokenizer.json), `POST /generate` returns
 * `generations` with the server's token ids, which are never re-encoded.
 */
import { createTokenizer, POLICY_KINDS, type Generation, type Policy } from 'parallelsearch';

async function ask<T>(url: string, body?: object): Promise<T> {
  const response = await fetch(url, body && { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`Expected status 200 from ${url}, but got ${response.status}.`);
  return (await response.json()) as T;
}

/** @param address such as `toy:http://127.0.0.1:8000` */
export async function openToyPolicy(address: string): Promise<Policy> {
  const url = address.slice('toy:'.length);
  const { tokenizer, maxLength } = await ask<{ tokenizer: object; maxLength: number }>(
    `${url}/model`,
  );
  return {
    name: address,
    tokenizer: createTokenizer(tokenizer),
    maxLength,
    generate: async (contexts, { temperature, topP, maxNewTokens, stop, randoms }) => {
      const seeds = randoms.map((random) => random.integer(2 ** 31));
      const body = { contexts, temperature, topP, maxNewTokens, stop, seeds };
      return (await ask<{ generations: Generation[] }>(`${url}/generate`, body)).generations;
    },
  };
}

// Registration. In this repository, add the kind to the list in lib/policy/api/remote.ts.
POLICY_KINDS.add({ name: 'toy', open: openToyPolicy });
