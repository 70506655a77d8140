/** Evaluating a chat model behind an API, with a scripted model. */
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rollup } from 'd3-array';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runAsk } from '../../../lib/commands/ask.js';
import { setUp } from '../../../lib/commands/common/setup.js';
import {
  describeUsage,
  evaluateCommand,
  runEvaluate,
} from '../../../lib/commands/evaluate/command.js';
import { formatPassages, formatQuestions } from '../../../lib/data/flashrag.js';
import type { QuestionResult } from '../../../lib/evaluation/measurement.js';
import { withFileLocks } from '../../../lib/io/folder-lock.js';
import { createRetriever } from '../../../lib/retrieval/retrievers.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import type { TextMessage } from '../../../lib/text/messages.js';
import { temporaryFolder } from '../../folder.js';
import {
  call,
  isProbe,
  refuse,
  say,
  startChatStandIn,
  type ChatRequest,
} from '../../policy/api/chat-stand-in.js';
import { isBuilt, runCommand, startCommand, words } from '../command-line.js';
import { linesOf, outputs } from '../tiny-world.js';

vi.mock(import('../../../lib/retrieval/retrievers.js'), async (original) => {
  const actual = await original();
  return { ...actual, createRetriever: vi.fn(actual.createRetriever) };
});

const NUM_QUESTIONS = 60;
const root = temporaryFolder();
const printed = outputs();
const data = join(root, 'people');
const [out, trajectories, page] = ['answers.jsonl', 'trajectories.jsonl', 'page.html'].map((name) =>
  join(root, name),
);

/**
 * Searches for both people of a question, in one turn if allowed, then answers with the
 * first.
 */
function reply({ messages, tools }: ChatRequest) {
  const [a, b] = (messages[0] as { content: string }).content
    .match(/Which is taller, (Ada \d+) or (Bo \d+)/)!
    .slice(1);
  const isParallel = JSON.stringify(tools).includes('"queries"');
  const numResults = messages.filter(({ role }) => role === 'tool').length;
  if (isParallel) return numResults === 0 ? call({ queries: [a, b] }) : say(a);
  return numResults < 2 ? call({ query: [a, b][numResults] }) : say(a);
}

/** Requests that are answered before the server breaks. */
let working = Infinity;
/** Called before each reply. */
let onRequest = (): void => {};
const pairs = Array.from({ length: NUM_QUESTIONS }, (_, i) => [`Ada ${i}`, `Bo ${i}`]);
mkdirSync(data);
writeFileSync(
  join(data, 'corpus.jsonl'),
  formatPassages(
    pairs.flatMap((pair) =>
      pair.map((id, j) => ({ id, contents: `${id}\n${id} is ${190 - j} cm tall.` })),
    ),
  ),
);
writeFileSync(
  join(data, 'test.jsonl'),
  formatQuestions(
    pairs.map(([a, b], i) => ({
      id: `q${i}`,
      question: `Which is taller, ${a} or ${b}?`,
      goldenAnswers: [a],
      metadata: {},
    })),
  ),
);
let isBroken: (request: Parameters<typeof reply>[0]) => boolean = () => false;
const server = await startChatStandIn((request) => {
  onRequest();
  if (isBroken(request)) return refuse(400, { message: 'template error' });
  return working-- > 0 ? reply(request) : refuse(402, { message: 'out of credit' });
});
afterAll(() => server.close());
beforeEach(() => {
  working = Infinity;
  onRequest = () => {};
  server.requests.splice(0);
  for (const name of readdirSync(root))
    if (/^answers.*\.jsonl(\.partial)?$/.test(name)) rmSync(join(root, name));
});

/** The numbers of the questions whose first turn reached the server. */
const askedQuestions = (): number[] =>
  server.requests
    .filter(({ messages }) => messages.length === 1 && !isProbe(messages))
    .map(({ messages }) => Number(/Ada (\d+) or/.exec((messages[0] as TextMessage).content)![1]));
const numbersOf = (results: readonly QuestionResult[]): number[] =>
  results.map(({ questionId }) => Number(questionId.slice(1)));

const settings = (): Parameters<typeof runEvaluate>[0] => ({
  data,
  out,
  trajectories,
  policy: `chat:${server.api}`,
  seed: 1,
  checkpoints: root,
  batchSize: 8,
  backend: 'wasm',
});

/** Evaluates until the server has answered some requests; then it works again. */
async function interruptAfter(numRequests: number, more: object = {}): Promise<void> {
  working = numRequests;
  await expect(runEvaluate({ ...settings(), ...more })).rejects.toThrow('out of credit');
  working = Infinity;
}

describe('evaluate --policy chat:', () => {
  it('answers with tool calls, several per turn', async () => {
    await runEvaluate({ ...settings(), price: { read: 1, written: 2 } });
    expect(printed.stderr).toContain(`policy: scripted at ${server.api}, with tool calls`);
    const results = linesOf<QuestionResult>(out);
    expect(results).toHaveLength(NUM_QUESTIONS);
    for (const result of results)
      expect(result).toMatchObject({
        em: 1,
        turns: 1,
        modelCalls: 2,
        decomposed: true,
        behaviour: { repeated_query: false, no_search: false, out_of_turns: false },
      });
    expect(printed.stdout).toMatch(/^behaviour +share[^]*^no_search +0 of /m);
    expect(printed.stdout).toContain(`${20 * NUM_QUESTIONS} read, ${4 * NUM_QUESTIONS} written`);
    const [{ segments }] = linesOf<Trajectory>(trajectories);
    expect(segments.map(({ kind }) => kind)).toEqual(['prompt', 'policy', 'information', 'policy']);
    expect(segments[1]).toMatchObject({ usage: { read: 10, written: 2 }, messages: [{}] });
  });

  it('omits tokens that the server did not count, and shows even the smallest cost', () => {
    const result = { modelCalls: 3 };
    const describe = (read: number): string =>
      describeUsage([{ usage: { read, written: 0 }, result }], { read: 0.5, written: 1 });
    expect(describe(0)).toBe('not counted by the server, in 3 calls');
    expect(describe(20)).toBe('20 read, 0 written in 3 calls, $0.00001');
    const counted = { usage: { read: 20, written: 4 }, result };
    const partly = { usage: { read: 7, written: 1, uncounted: 2 }, result };
    expect(describeUsage([counted, partly])).toBe(
      '27 read, 5 written in 4 calls; 2 calls more were not counted by the server',
    );
  });

  it('resumes after a failure: no question is lost or asked twice', async () => {
    await interruptAfter(90);
    const saved = linesOf<{ item: { result: QuestionResult } }>(`${out}.partial`).map(
      ({ item }) => item.result.questionId,
    );
    expect(saved.length).toBeGreaterThan(30);
    expect(printed.stderr).toContain(`${saved.length} answers are saved`);
    server.requests.splice(0);
    await runEvaluate(settings());
    const asked = server.requests.map(({ messages }) => (messages[0] as TextMessage).content);
    for (const id of saved)
      expect(asked.filter((text) => text.includes(`Ada ${id.slice(1)} or`))).toEqual([]);
    // Of all answers, also the saved ones.
    expect(printed.stdout).toContain(`${20 * NUM_QUESTIONS} read`);
    const ids = linesOf<QuestionResult>(out).map(({ questionId }) => questionId);
    expect(ids).toEqual(Array.from({ length: NUM_QUESTIONS }, (_, i) => `q${i}`));
    expect(existsSync(`${out}.partial`)).toBe(false);
  });

  it('rejects options that it would ignore', async () => {
    const rejects = (more: object) => expect(runEvaluate({ ...settings(), ...more })).rejects;
    await rejects({ page }).toThrow('Expected --methods with --page');
    await rejects({ tokenizer: root }).toThrow('with --tokenizer, but got chat:');
    const price = { read: 1, written: 2 };
    await rejects({ policy: undefined, price }).toThrow('Expected --policy with --price');
  });

  it('asks with tags, not tools, if a configuration or --set says so', async () => {
    const config = join(root, 'tags.json');
    writeFileSync(config, '{ "rollout": { "promptForm": "chat" } }');
    for (const more of [{ config }, { set: ['rollout.promptForm=chat'] }]) {
      const { policy, rollout } = await setUp({ ...settings(), ...more });
      expect([policy, rollout]).toMatchObject([{ promptForm: 'chat' }, { promptForm: 'chat' }]);
    }
  });

  it('keeps answers to questions beyond a smaller --limit', async () => {
    await interruptAfter(90);
    const numSaved = linesOf(`${out}.partial`).length;
    await runEvaluate({ ...settings(), limit: 2 });
    expect(linesOf(out)).toHaveLength(2);
    expect(linesOf(`${out}.partial`).length).toBeGreaterThanOrEqual(numSaved);
    server.requests.splice(0);
    await runEvaluate(settings());
    expect(askedQuestions().length).toBeLessThanOrEqual(NUM_QUESTIONS - numSaved);
    expect(existsSync(`${out}.partial`)).toBe(false);
  });

  it.skipIf(!isBuilt)(
    'resumes after a kill: no question is lost, doubled or asked again',
    async () => {
      const args = words`evaluate --data ${data} --policy ${`chat:${server.api}`} --out ${out} --batch-size 8 --backend wasm`;
      const child = startCommand(args);
      let numRequests = 0;
      onRequest = () => void (++numRequests === 100 && child.kill('SIGKILL'));
      expect(await once(child, 'close')).toEqual([null, 'SIGKILL']);
      const partial = `${out}.partial`;
      // Its last line may be cut off.
      const lines = (await readFile(partial, 'utf8')).split('\n').slice(0, -1);
      const saved = numbersOf(
        lines.map((line) => (JSON.parse(line) as { item: { result: QuestionResult } }).item.result),
      );
      expect(saved.length).toBeGreaterThan(30);
      expect(saved.length).toBeLessThan(60);
      // The lock of a process that has ended is taken over when it is five seconds old.
      utimesSync(`${partial}.lock`, 0, 0);

      const { code, stderr } = await runCommand(args);
      expect(code, stderr).toBe(0);
      expect(stderr).toContain(`Resuming: ${saved.length} answers`);
      const all = Array.from({ length: NUM_QUESTIONS }, (_, i) => i);
      expect(numbersOf(linesOf(out))).toEqual(all);
      const counts = rollup(askedQuestions(), ({ length }) => length, Number);
      for (const i of saved) expect(counts.get(i)).toBe(1);
      // Those in progress at the kill are asked again.
      expect(all.filter((i) => counts.get(i)! > 1).length).toBeLessThanOrEqual(8);
      expect(existsSync(partial)).toBe(false);
    },
  );

  it('continues after a question on which the server fails, and ends if it always fails', async () => {
    isBroken = ({ messages }) => JSON.stringify(messages).includes('Ada 17 or');
    await runEvaluate(settings());
    expect(printed.stderr).toMatch(/Rejected the answer to question q17: .*template error/);
    expect(printed.stdout).toMatch(/^refused +1 answers/m);
    expect(linesOf<QuestionResult>(out)[17]).toMatchObject({ questionId: 'q17', em: 0 });
    let numServed = 0;
    isBroken = ({ messages }) => !isProbe(messages) && numServed++ >= 60;
    await expect(runEvaluate(settings())).rejects.toThrow('rejected 20 in a row');
    const saved = linesOf(`${out}.partial`).length;
    expect(saved).toBeGreaterThan(20);
    expect(printed.stderr).toContain(`${saved} answers are saved`);
    isBroken = ({ messages }) => JSON.stringify(messages).includes('Ada 17 or');
    await interruptAfter(30);
    await runEvaluate(settings());
    isBroken = () => false;
    expect(existsSync(`${out}.partial`)).toBe(false);
  });

  it('counts and lists questions with timed-out searches, and asks them again on resuming', async () => {
    const late = new DOMException('late', 'TimeoutError');
    vi.mocked(createRetriever).mockResolvedValue({
      name: 'late',
      retrieve: (queries) =>
        queries.some((query) => query.endsWith('7'))
          ? Promise.reject(late)
          : Promise.resolve(queries.map(() => [])),
    });
    const ids = Array.from({ length: NUM_QUESTIONS / 10 }, (_, i) => `q${10 * i + 7}`);
    await interruptAfter(90);
    const saved = linesOf<{ item: { result: QuestionResult } }>(`${out}.partial`);
    expect(saved.length).toBeGreaterThan(20);
    for (const { item } of saved) expect(ids).not.toContain(item.result.questionId);
    await runEvaluate(settings());
    vi.mocked(createRetriever).mockReset();
    for (const { questionId, timedOutQueries } of linesOf<QuestionResult>(out))
      expect(timedOutQueries).toBe(ids.includes(questionId) ? 2 : undefined);
    expect(printed.stdout).toContain(`timed out        searches for ${ids.length} questions`);
    for (const id of ids) {
      expect(printed.stdout).toMatch(new RegExp(`timed out.*\\b${id}\\b`));
      expect(printed.stderr).toContain(`question ${id} timed out`);
    }
  });

  it('lists questions with failed searches, and why they failed', async () => {
    vi.mocked(createRetriever).mockResolvedValue({
      name: 'down',
      retrieve: (queries) =>
        queries.some((query) => query.endsWith('17'))
          ? Promise.reject(new Error('it is down'))
          : Promise.resolve(queries.map(() => [])),
    });
    await runEvaluate(settings());
    vi.mocked(createRetriever).mockReset();
    expect(printed.stdout).toMatch(/^failed +searches for 1 questions, .*: q17$/m);
    expect(printed.stderr).toContain('A search for question q17 failed: it is down');
  });

  it('keeps answers of other settings and processes, and resumes at another address', async () => {
    writeFileSync(out, '');
    await interruptAfter(50);
    expect(printed.stderr).toContain('answers.jsonl exists. It is replaced when');
    const saved = await readFile(`${out}.partial`, 'utf8');
    server.requests.splice(0);
    await expect(runEvaluate({ ...settings(), topK: 1 })).rejects.toThrow(/holds \d+ of others/);
    const link = join(root, 'link.jsonl');
    symlinkSync(out, link);
    for (const one of [out, link])
      await withFileLocks([`${out}.partial`], () =>
        expect(runEvaluate({ ...settings(), out: one })).rejects.toThrow('locked by process'),
      );
    expect(await readFile(`${out}.partial`, 'utf8')).toBe(saved);
    // Two processes may share other outputs only.
    const methods = ['search-r1', 'parallelsearch'];
    for (const [file, options] of Object.entries({ [trajectories]: {}, [page]: { methods, page } }))
      await withFileLocks([`${file}.partial`], () =>
        expect(
          runEvaluate({ ...settings(), out: join(root, 'other.jsonl'), ...options }),
        ).rejects.toThrow('locked by process'),
      );
    const moved = await startChatStandIn(reply);
    await runEvaluate({ ...settings(), policy: `chat:${moved.api}` }).finally(() => moved.close());
    expect(server.requests.filter(({ messages }) => messages.length > 1)).toEqual([]);
    expect(printed.stderr).toContain(`Resuming: ${saved.trimEnd().split('\n').length} answers`);
    expect(linesOf(out)).toHaveLength(NUM_QUESTIONS);
  });

  it('replaces finished answers by those of the same settings and questions only', async () => {
    await runEvaluate(settings());
    const finished = await readFile(out, 'utf8');
    for (const [other, reason] of [
      [{ topK: 1 }, 'other settings'],
      [{ limit: 8 }, 'is not asked now'],
    ] as const)
      await expect(runEvaluate({ ...settings(), ...other })).rejects.toThrow(reason);
    expect(await readFile(out, 'utf8')).toBe(finished);
    await runEvaluate(settings());
    expect(linesOf(out)).toHaveLength(NUM_QUESTIONS);
    // Not answers at all.
    writeFileSync(out, 'notes\n');
    await expect(runEvaluate(settings())).rejects.toThrow('Expected answers');
    expect(await readFile(out, 'utf8')).toBe('notes\n');
  });

  it('does not resume with an encoder that has changed', async () => {
    const encoder = join(root, 'encoder');
    cpSync('test/fixtures/encoders/minilm', encoder, { recursive: true });
    const dense = { ...settings(), retriever: 'exact', encoder, index: join(root, 'vectors') };
    await interruptAfter(50, dense);
    const prompts = { query: 'find: ' };
    writeFileSync(join(encoder, 'config_sentence_transformers.json'), JSON.stringify({ prompts }));
    const again = runEvaluate({ ...dense, index: join(root, 'other-vectors') });
    await expect(again).rejects.toThrow(/holds \d+ of others/);
  });

  it('compares both methods', async () => {
    const methods = ['search-r1', 'parallelsearch'];
    const price = { read: 1, written: 2 };
    await runEvaluate({ ...settings(), methods, page, limit: 20, price });
    const calls = methods.map((method) =>
      linesOf<QuestionResult>(join(root, `answers-${method}.jsonl`)).map(
        ({ modelCalls }) => modelCalls,
      ),
    );
    expect(calls).toEqual([Array(20).fill(3), Array(20).fill(2)]);
    expect(printed.stdout).toMatch(/ParallelSearch − Search-R1: Model calls.* −1\.000/);
    expect(printed.stdout).toMatch(/\$ per 1,000[^]*0\.042[^]*0\.028/);
    const html = await readFile(page, 'utf8');
    for (const text of ['Search-R1', 'ParallelSearch', 'Ada 3', '0.042', 'splitQueries'])
      expect(html).toContain(text);
  });

  it('resumes in the second method without repeating the first', async () => {
    const comparison = { ...settings(), methods: ['search-r1', 'parallelsearch'], page, limit: 20 };
    await interruptAfter(3 * 20 + 25, comparison);
    server.requests.splice(0);
    await runEvaluate(comparison);
    const asked = server.requests.filter(({ messages }) => !isProbe(messages));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThan(2 * 20);
    for (const { tools } of asked) expect(JSON.stringify(tools)).toContain('"queries"');
    for (const method of comparison.methods) {
      expect(linesOf(join(root, `answers-${method}.jsonl`))).toHaveLength(20);
      expect(existsSync(join(root, `answers-${method}.jsonl.partial`))).toBe(false);
    }
  });

  it.each([['parallelsearch'], ['search-r1,search-r1'], ['search-r1,none']])(
    'rejects --methods %s',
    async (methods) => {
      const command = evaluateCommand()
        .exitOverride()
        .configureOutput({ writeErr: () => {} });
      await expect(
        command.parseAsync(['--methods', methods], { from: 'user' }),
      ).rejects.toMatchObject({ code: 'commander.invalidArgument' });
    },
  );
});

describe('ask --policy chat:', () => {
  it('prints searches, passages and the answer', async () => {
    await runAsk('Which is taller, Ada 1 or Bo 1?', settings());
    expect(printed.stdout).toMatch(/<search> Ada 1 ## Bo 1 <\/search>[^]*190 cm[^]*Answer: Ada 1/);
  });

  it('closes thoughts that end with a line break', async () => {
    const thinker = await startChatStandIn((request) => ({
      ...reply(request),
      reasoning_content: '\nI see.\n',
    }));
    const policy = `chat:${thinker.api}`;
    await runAsk('Which is taller, Ada 1 or Bo 1?', { ...settings(), policy }).finally(() =>
      thinker.close(),
    );
    expect(printed.stdout).toMatch(/<think> I see\.\s+<\/think>\s+<search>/);
    expect(printed.stdout).toMatch(/<think> I see\.\s+<\/think>\s+(?:<answer> )?Ada 1/);
  });
});
