import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Question } from '../../../lib/data/question.js';
import { stepFolder } from '../../../lib/experiments/running/runs.js';
import { CHECKPOINTS } from '../../../lib/io/paths.js';
import { exampleQuestion, readPlayground } from '../../../lib/pages/playground/contents.js';
import { SETUP_FILE, type PlaygroundSetup } from '../../../lib/pages/playground/setup.js';
import { INITIAL_MODELS } from '../../../lib/training/models.js';
import {
  adapterFolder,
  trainConfigForRun,
  modelNameForRun,
  runName,
  type PolicyRun,
} from '../../../lib/experiments/running/policy-runs.js';
import { subQuestion } from '../../data/questions.js';
import { temporaryFolder } from '../../folder.js';

const METHODS = ['parallelsearch', 'search-r1'] as const;
const ADAPTER = ['adapter_config.json', 'adapter_model.safetensors'];
const runOf = (method: string, model: PolicyRun['model'] = 'instruct'): PolicyRun => {
  return { method, model, initSeed: 1, seed: 1 };
};

const root = temporaryFolder();
for (const model of INITIAL_MODELS) {
  const name = modelNameForRun(runOf('', model));
  symlinkSync(join(CHECKPOINTS, name), join(root, name));
  for (const run of METHODS.map((method) => runOf(method, model))) {
    const [from, to] = [adapterFolder(run), adapterFolder(run, root)];
    mkdirSync(to);
    for (const file of ADAPTER) cpSync(join(from, file), join(to, file));
    writeFileSync(join(to, 'train_config.json'), JSON.stringify(trainConfigForRun(run)));
  }
}

/** Writes an adapter for a step that contains its run's name. */
function keepStep(method: (typeof METHODS)[number], step: number): void {
  const run = runOf(method);
  const folder = join(adapterFolder(run, root), stepFolder(step));
  mkdirSync(folder);
  for (const file of ADAPTER) writeFileSync(join(folder, file), `${runName(run)} ${step}`);
}

async function read() {
  const files = await readPlayground(root);
  return { files, setup: JSON.parse(files.get(SETUP_FILE) as string) as PlaygroundSetup };
}
const idsOf = ({ checkpoints }: PlaygroundSetup): string[] => checkpoints.map(({ id }) => id);

describe('exampleQuestion', () => {
  const partOf = (entity: string) => subQuestion(entity, { entity, answers: ['1950'] });
  const questionOf = (id: string, entities: string[]): Question => {
    const metadata = { graph: entities.map(partOf) };
    return { id, question: `${id}?`, goldenAnswers: ['A'], metadata };
  };
  const lineOf = (questionId: string, queries: string[][], thought: string, outcome = 1) => ({
    questionId,
    question: `${questionId}?`,
    rewards: { outcome, total: outcome },
    searchTurns: queries.map((asked) => ({ queries: asked, results: [] })),
    segments: [{ kind: 'policy' as const, text: thought, tokenIds: [] }],
  });
  const questions = [questionOf('two', ['Ann', 'Bob']), questionOf('three', ['Ann', 'Bob', 'Cy'])];
  const right = 'Ann = 1950 Ann; Bob = 1950 Bob; Cy = 1950 Cy.';
  const two = lineOf('two', [['Ann born', 'Bob born']], right);
  const each = ['Ann born', 'Bob born', 'Cy born'];

  it('picks a question of three parts, each searched once in the same turn and read correctly', () => {
    expect(exampleQuestion([two, lineOf('three', [each], right)], questions)).toBe('three?');
  });

  it.each([
    ['wrong answer', lineOf('three', [each], right, 0)],
    ['part searched for twice', lineOf('three', [['Ann born', 'Bob born', 'Bob born']], right)],
    ['part searched for later', lineOf('three', [each.slice(0, 2), each.slice(2)], right)],
    ['part read incorrectly', lineOf('three', [each], right.replace('Bob = 1950', 'Bob = 1951'))],
  ])('rejects a %s', (_, line) => {
    expect(exampleQuestion([line, two], questions)).toBe('two?');
    expect(exampleQuestion([line], questions)).toBeUndefined();
  });
});

describe('readPlayground', () => {
  it('starts with one of its questions', async () => {
    const { setup } = await read();
    expect(setup.questions.map(({ question }) => question)).toContain(setup.firstQuestion);
  });

  it('has checkpoints before and after training, with the trained ones selected', async () => {
    const { setup } = await read();
    const ids = ['instruct-1', 'instruct-1-step-200', 'base-1', 'base-1-step-200'];
    expect(idsOf(setup)).toEqual(ids);
    expect(setup.firstCheckpoint).toBe('instruct-1-step-200');
    expect(setup.checkpoints.map(({ title }) => title)).toEqual([
      'instruct-1, before GRPO',
      'instruct-1, after GRPO',
      'base-1, before GRPO',
      'base-1, after GRPO',
    ]);
    expect(setup.checkpoints[0].adapters).toEqual({});
  });

  it('has the intermediate steps kept by both methods', async () => {
    for (const method of METHODS) keepStep(method, 25);
    keepStep('parallelsearch', 75);
    const { files, setup } = await read();
    const ids = ['instruct-1', 'instruct-1-step-25', 'instruct-1-step-200'];
    expect(idsOf(setup).slice(0, 3)).toEqual(ids);
    expect(setup.checkpoints[1].title).toBe('instruct-1, after 25 steps of GRPO');
    const folder = 'instruct-1-search-r1-seed1/step-25';
    expect(setup.checkpoints[1].adapters['search-r1']).toBe(folder);
    const weights = String(files.get(`${folder}/adapter_model.safetensors`));
    expect(weights).toBe('instruct-1-search-r1-seed1 25');
    expect([...files.keys()].filter((name) => name.includes('step-75'))).toEqual([]);
  });

  it('leaves out untrained models, and reports missing weights if there are none', async () => {
    rmSync(join(root, 'base-1-search-r1-seed1'), { recursive: true });
    expect(idsOf((await read()).setup)).not.toContain('base-1');
    rmSync(join(root, 'instruct-1-search-r1-seed1'), { recursive: true });
    await expect(readPlayground(root)).rejects.toThrow(/weights.*instruct-1-search-r1-seed1/);
  });
});
