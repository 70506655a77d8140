import { expect, it } from 'vitest';
import { methodsCommand } from '../../lib/commands/methods.js';
import { METHODS } from '../../lib/training/methods.js';
import { captured } from './tiny-world.js';

async function methods(...args: string[]): Promise<string> {
  const printed = captured('stdout');
  await methodsCommand().parseAsync(args, { from: 'user' });
  return printed();
}

it('lists each method in one line with title, training and source', async () => {
  const [, ...lines] = (await methods()).split('\n');
  expect(lines.slice(0, METHODS.all().length).map((line) => line.split(/\s/)[0])).toEqual(
    METHODS.all().map(({ name }) => name),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^parallelsearch +ParallelSearch +grpo, rewards paper +.*2508\.09303$/),
  );
  expect(lines).toContainEqual(
    expect.stringMatching(/^search-r1-parallel-prompt .* weights of search-r1 /),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^r1 +R1 \(no search\) +– +DeepSeek/));
});

it('prints JSON lines with --json', async () => {
  const items = (await methods('--json'))
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(items).toContainEqual({
    name: 'search-r1:ppo',
    title: 'Search-R1, PPO',
    source: 'Search-R1, arXiv 2503.09516',
    training: { trainer: 'ppo', rewards: 'search-r1' },
  });
});
