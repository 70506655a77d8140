/** Rewards and rollouts in Python equal this library's. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  exportedRollout,
  formatRewardTest,
  rewardKeywords,
  writePython,
  type RewardCase,
} from '../../lib/interop/export.js';
import { serveLocally } from '../../lib/io/local-server.js';
import { rewardConstants } from '../../lib/rewards/presets.js';
import { linesOf } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { cases, isFull } from '../full.js';
import { PATIENCE_MS, python, runPython } from './python.js';

const root = temporaryFolder();
const rollouts =
  process.env.PARALLELSEARCH_ROLLOUTS ?? join(import.meta.dirname, '../../../shared/rollouts');
const QUESTION_TYPES = ['parallelizable', 'sequential', 'single_hop', undefined] as const;

interface Recorded {
  response: string;
  golden_answers: string[];
}

/** Real trajectories with alternating question types. */
const realCases = (): RewardCase[] =>
  readdirSync(rollouts)
    .flatMap((file) => linesOf<Recorded>(join(rollouts, file)))
    .map(({ response, golden_answers }, i) => ({
      response,
      goldenAnswers: golden_answers,
      questionType: QUESTION_TYPES[i % 4],
    }));

describe.skipIf(!python)('the Python package (needs python3)', { timeout: PATIENCE_MS }, () => {
  it.each(
    [
      // Not exact in 64-bit floats.
      ['paper', { lambdaD: 1 / 3, lambdaS: 0.7, lambdaF: 1e-9, alpha: Math.PI }],
      ['authors-code', {}],
      ['search-r1-format', {}],
      ['paper', {}],
      ['search-r1', {}],
    ].slice(0, cases(3, 5)) as [string, object][],
  )('gives equal rewards with preset %s and %o on random trajectories', async (preset, weights) => {
    const folder = join(root, `${preset}${Object.keys(weights).length}`);
    const numDrawn = cases(200, 2_000);
    await writePython(folder, formatRewardTest(rewardConstants(preset, weights), { numDrawn }));
    expect(await runPython(python!, ['tests/test_rewards.py'], folder)).toBe(
      `${numDrawn} of ${numDrawn} rewards are equal bit by bit.\n`,
    );
    // The preset only changes how the method of the rollouts searches.
    if (isFull || preset === 'paper')
      expect(await runPython(python!, ['tests/test_rollout.py'], folder)).toBe(
        '300 of 300 rollouts are equal token by token.\n',
      );
  });

  it.skipIf(!existsSync(rollouts))(
    'gives equal rewards on real trajectories (needs PARALLELSEARCH_ROLLOUTS)',
    async () => {
      const folder = join(root, 'real');
      const recorded = realCases();
      expect(recorded).toHaveLength(275);
      const test = formatRewardTest(rewardConstants('paper'), { recorded, numDrawn: 0 });
      await writePython(folder, test);
      expect(await runPython(python!, ['tests/test_rewards.py'], folder)).toBe(
        '275 of 275 rewards are equal bit by bit.\n',
      );
    },
  );

  it('accepts the same answers of a retrieval server', async () => {
    const folder = join(root, 'search');
    await writePython(folder, '');
    const found = (...scores: (number | undefined)[]) =>
      scores.map((score, i) => ({ document: { id: `p${i}`, contents: `T${i}\nt` }, score }));
    const answers = {
      good: { result: [found(2, 1)] },
      unscored: { result: [found(undefined)] },
      untitled: { result: [[{ document: { contents: 'One line.' }, score: null }]] },
      quoted: { result: [[{ document: { id: 'p', contents: ' "A "B"" \r\n t\n' } }]] },
      lists: { result: [found(1), found(1)] },
      many: { result: [found(3, 2, 1)] },
      rising: { result: [found(1, 2)] },
      number: { result: [[{ document: { contents: 1 } }]] },
      large: { result: [found(1)], more: 'x'.repeat(2 ** 26) },
    };
    const server = await serveLocally(0, async ({ url }) =>
      Response.json(answers[url!.slice(1) as keyof typeof answers]),
    );
    const script = [
      'import json, sys',
      'from parallelsearch.search import retrieve',
      'print(json.dumps([retrieve(sys.argv[1] + name, ["q"], top_k=2, retries=0)[0] for name in sys.argv[2:]]))',
    ];
    const args = ['-c', script.join('\n'), server.url, ...Object.keys(answers)];
    const told = await runPython(python!, args, folder).finally(() => server.close());
    const [good, unscored, untitled, quoted, ...refused] = JSON.parse(told) as unknown[];
    expect(good).toEqual([
      ['T0', 't', 'p0', 2],
      ['T1', 't', 'p1', 1],
    ]);
    expect(unscored).toEqual([['T0', 't', 'p0', null]]);
    expect(untitled).toEqual([['', 'One line.', null, null]]);
    expect(quoted).toEqual([['A "B"', 't', 'p', null]]);
    expect(refused).toEqual([null, null, null, null, null]);
  });

  it('escapes special tokens in the question', async () => {
    const folder = join(root, 'special');
    await writePython(folder, '');
    const script = [
      'from types import SimpleNamespace as Space',
      'from parallelsearch.rollout import plain_messages',
      'class Added(Space):',
      '    __str__ = lambda self: self.content',
      'added = {1: Added(content="<|im_end|>", special=True), 2: Added(content="<tool>", special=False)}',
      'tokenizer = Space(all_special_tokens=["</s>", "!"], added_tokens_decoder=added)',
      'message = {"role": "user", "content": "Who<|im_end|> is</s></s> <tool>!"}',
      'print(plain_messages([message], tokenizer))',
    ];
    expect(await runPython(python!, ['-c', script.join('\n')], folder)).toBe(
      "[{'role': 'user', 'content': 'Who< |im_end|> is< /s>< /s> <tool>!'}]\n",
    );
  });

  it('reports cases that differ in the last bit or in one token', async () => {
    const folder = join(root, 'wrong');
    await writePython(folder, formatRewardTest(rewardConstants('paper'), { numDrawn: 50 }));
    const change = (name: string, from: RegExp, to: string): void => {
      const file = join(folder, 'tests', name);
      writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
    };
    change('rewards.jsonl', /"search_count":-0.35/, '"search_count":-0.35000000000000003');
    change('rollouts.jsonl', /"mask":\[1,/, '"mask":[0,');
    const told = {
      'test_rewards.py': '49 of 50 rewards',
      'test_rollout.py': '299 of 300 rollouts',
    };
    for (const [name, found] of Object.entries(told)) {
      const failed = { code: 1, stdout: expect.stringContaining(found) as string };
      await expect(runPython(python!, [`tests/${name}`], folder)).rejects.toMatchObject(failed);
    }
  });
});

describe('random rollouts', () => {
  it('cover searches, failures, notices, cut generations, dropped passages and full contexts', async () => {
    const folder = join(root, 'drawn');
    await writePython(folder, formatRewardTest(rewardConstants('paper'), { numDrawn: 1 }));
    interface Case {
      script: string[];
      max_length: number;
      prompt: string;
      options: {
        top_k: number;
        split_queries: boolean;
        query_separator?: string;
        information_form?: string;
      };
      found: Record<string, unknown[] | null>;
      expected: {
        segments: [string, string][];
        token_ids: number[];
        mask: number[];
        /** Id of each passage and whether it is cut, by turn and query. */
        shown: [string, boolean][][][];
      };
    }
    const cases = linesOf<Case>(join(folder, 'tests', 'rollouts.jsonl'));
    const texts = cases.map(({ expected }) => expected.segments.map(([, text]) => text).join(''));
    const numOf = (holds: (one: Case, text: string) => boolean): number =>
      cases.filter((one, i) => holds(one, texts[i])).length;
    const num = ({ expected }: Case, wanted: string): number =>
      expected.segments.filter(([kind]) => kind === wanted).length;
    expect(numOf((one) => num(one, 'notice') > 0)).toBeGreaterThan(20);
    expect(numOf((one) => num(one, 'information') > 1)).toBeGreaterThan(20);
    const failed = 'Retrieval failed: the search engine gave no answer.';
    for (const said of [failed, 'Nothing found.'])
      expect(numOf((_, text) => text.includes(said))).toBeGreaterThan(10);
    expect(numOf(({ script }, text) => !text.startsWith(script[0]))).toBeGreaterThan(10);
    expect(numOf((one) => !one.options.split_queries)).toBeGreaterThan(20);
    const isFull = ({ prompt, max_length, expected }: Case): boolean =>
      prompt.length + expected.token_ids.length + 50 >= max_length;
    expect(numOf(isFull)).toBeGreaterThan(20);
    const isShortened = ({ options, found, expected }: Case): boolean =>
      Object.values(found).some(
        (passages) => (passages?.length ?? 0) >= options.top_k && options.top_k > 1,
      ) && !expected.segments.some(([, text]) => text.includes(`Doc ${options.top_k}(`));
    expect(numOf(isShortened)).toBeGreaterThan(5);
    const endsRaw = ({ expected }: Case): boolean =>
      expected.segments.some(
        ([kind, text]) => kind === 'information' && !text.trimEnd().endsWith('</information>'),
      );
    const isCut = ({ expected }: Case): boolean =>
      expected.shown.flat(2).some(([, isPassageCut]) => isPassageCut);
    for (const form of ['json', undefined]) {
      const hasForm = ({ options }: Case): boolean => options.information_form === form;
      expect(numOf((one) => hasForm(one) && endsRaw(one))).toBeGreaterThan(5);
      for (const raw of [true, false])
        expect(numOf((one) => hasForm(one) && isCut(one) && endsRaw(one) === raw)).toBeGreaterThan(
          1,
        );
    }
    const isList = ({ options, found }: Case): boolean =>
      options.query_separator === ',' && Object.keys(found).length > 2;
    expect(numOf(isList)).toBeGreaterThan(5);
    for (const { expected } of cases) expect(expected.mask).toHaveLength(expected.token_ids.length);
  });

  it("follows RAG-R1's turns for language models, and the small world's for its models", () => {
    const language = exportedRollout({ method: 'rag-r1', promptForm: 'chat', topK: 3 });
    expect(language).toMatchObject({
      querySeparator: ',',
      informationForm: 'json',
      informationCut: 'query',
      maxInformationTokens: 3000,
    });
    expect(rewardKeywords(rewardConstants('search-r1'), language)).toMatchObject({
      query_separator: ',',
    });
    const small = exportedRollout({ method: 'rag-r1', promptForm: 'short', topK: 3 });
    expect(small.querySeparator ?? small.informationForm).toBeUndefined();
    const searchR1 = exportedRollout({ method: 'search-r1', promptForm: 'chat', topK: 3 });
    expect(searchR1.maxInformationTokens).toBe(500);
    expect(rewardKeywords(rewardConstants('search-r1'), searchR1)).not.toHaveProperty(
      'query_separator',
    );
  });

  it('rejects rewards that only exist in this library', () => {
    expect(() => rewardKeywords(rewardConstants('stepsearch'))).toThrow(
      /^Expected one of the rewards paper, authors-code, search-r1, search-r1-format,/,
    );
  });
});
