/** The terminal output of `ask`. */
import { stripVTControlCharacters, styleText } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { askCommand, runAsk } from '../../lib/commands/ask.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { UNRELATED_PASSAGES } from '../../lib/rollout/trajectory.js';
import { scriptedPolicy } from '../rollout/scripted-policy.js';
import { PASSAGES } from '../training/tiny.js';
import { captured } from './tiny-world.js';

const SEARCH =
  '<think> a </think><search> Bo Reed ## is Hamlet Elsinore Denmark Polonius Ophelia Laertes </search>';
const ANSWER = '<think> b </think><answer> 1904 </answer>';

vi.mock(import('../../lib/retrieval/retrievers.js'), async (original) => ({
  ...(await original()),
  createRetriever: async (): Promise<Retriever> => {
    const bm25 = createBm25Retriever(PASSAGES);
    const retrieve: Retriever['retrieve'] = async (queries, options) => {
      if (queries.includes('broken')) throw new Error('the index is gone');
      return bm25.retrieve(queries, options);
    };
    return { ...bm25, retrieve };
  },
}));
vi.mock(import('../../lib/policy/api/remote.js'), async (original) => ({
  ...(await original()),
  openRemotePolicy: async () =>
    scriptedPolicy({
      'Who?': [SEARCH, ANSWER],
      'Who met Tom Thumb?': [ANSWER],
      'Why?': ['<search> broken </search>', ANSWER],
      'When?': [SEARCH],
      'Where?': ['<answer> \u001b[2J1904 </answer>'],
    }),
}));

const terminal = {
  isTTY: process.stdout.isTTY,
  hasColors: process.stdout.hasColors?.bind(process.stdout),
};
afterEach(() => Object.assign(process.stdout, terminal));

/** What the last command wrote to standard error. */
let warned: () => string;

async function shown(
  hasTerminal: boolean,
  question = 'Who?',
  options: string[] = [],
): Promise<string> {
  Object.assign(process.stdout, { isTTY: hasTerminal, hasColors: () => true });
  warned = captured('stderr');
  const told = captured('stdout');
  await askCommand().parseAsync(
    [question, '--policy', 'scripted:', '--backend', 'wasm', ...options],
    { from: 'user' },
  );
  return told();
}

it('colours thoughts, searches and answers on a terminal only', async () => {
  const [coloured, plain] = [await shown(true), await shown(false)];
  expect(coloured).toContain(
    styleText(['green', 'bold'], 'Answer: 1904', { validateStream: false }),
  );
  expect(stripVTControlCharacters(coloured)).toBe(plain);
  expect(plain).toContain(SEARCH);
  expect(plain).toContain('\nAnswer: 1904\n');
});

it('shows no control characters of a policy', async () => {
  expect(await shown(false, 'Where?')).toContain('\nAnswer: \ufffd[2J1904\n');
});

it('marks the sub-query without a similar passage', async () => {
  const told = (await shown(false)).split('\n').filter((line) => line.includes(UNRELATED_PASSAGES));
  expect(told).toEqual([expect.stringMatching(/^is Hamlet Elsinore/)]);
});

it('explains why a search failed', async () => {
  expect(await shown(false, 'Why?')).toContain('\nbroken: the index is gone\n');
});

it('explains why there is no answer', async () => {
  expect(await shown(false, 'When?')).toContain('\nNo answer: out of turns.\n');
  const long = 'long '.repeat(30_000);
  expect(await shown(false, long)).toContain('\nNo answer: the context is full.\n');
});

it('rejects an empty question', async () => {
  await expect(runAsk(' ', {} as Parameters<typeof runAsk>[1])).rejects.toThrow(/a question/);
});

it('warns of names in no passage on standard error', async () => {
  const told = await shown(false, 'Who met Tom Thumb?');
  expect(warned()).toMatch(/“Tom Thumb”/);
  expect(told).toMatch(/^Answer the given question/);
});

it('changes a rollout setting', async () => {
  expect(await shown(false)).toContain('<search> sub-question 1 ## sub-question 2 </search>');
  const separated = await shown(false, 'Who?', ['--set', 'rollout.querySeparator=,']);
  expect(separated).toContain('<search> sub-question 1,sub-question 2 </search>');
});
