import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { defaultMethod, runView } from '../../lib/commands/view.js';
import type { ViewerData } from '../../lib/pages/viewer/data.js';
import { temporaryFolder } from '../folder.js';
import { syntheticQuestion, trajectoryLine } from '../pages/viewer/synthetic.js';

const folder = temporaryFolder();
const inFolder = (name: string): string => path.join(folder, name);

const own = trajectoryLine(syntheticQuestion(0), [{ queries: ['Town0', 'River0'] }], 'Town0', {
  step: 3,
});
const transcript = {
  id: 1,
  question: 'Who?',
  golden_answers: ['A'],
  response: '<answer> A </answer>',
};

describe('view', () => {
  it('writes several files into one page, and reports invalid lines', async () => {
    writeFileSync(inFolder('own.jsonl'), `${JSON.stringify(own)}\n{"id": 1}\n`);
    writeFileSync(inFolder('other.jsonl'), `${JSON.stringify(transcript)}\n`);
    const question = { ...syntheticQuestion(0), golden_answers: ['Town0'] };
    writeFileSync(inFolder('questions.jsonl'), JSON.stringify(question));
    const log: string[] = [];
    const recorded = { ...own, method: 'parallelsearch' };
    writeFileSync(inFolder('recorded.jsonl'), JSON.stringify(recorded));
    const named = [`theirs=${inFolder('other.jsonl')}`, `second=${inFolder('recorded.jsonl')}`];
    const sources = [inFolder('own.jsonl'), ...named, inFolder('recorded.jsonl')];
    const exitCode = await runView(sources, {
      out: inFolder('out/page.html'),
      title: 'Mine',
      preset: 'paper',
      questions: [inFolder('questions.jsonl')],
      log: (line) => log.push(line),
    });
    expect(exitCode).toBe(1);
    expect(log[0]).toMatch(/own\.jsonl:2/);
    expect(log[1]).toMatch(/^4 trajectories, 0\.[0-9]*[1-9] MB: .*page\.html$/);
    const html = readFileSync(inFolder('out/page.html'), 'utf8');
    expect(html).toContain('<title>Mine</title>');
    const [, packed] = /id="data">([^<]+)</.exec(html)!;
    const data = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as ViewerData;
    expect(data.trajectories.map(({ method, step }) => [method, step])).toEqual([
      ['own', 3],
      ['theirs', undefined],
      ['second', 3],
      ['parallelsearch', 3],
    ]);
    expect(data.trajectories[0].metadata.graph).toHaveLength(2);
  });

  it('rejects files without trajectories', async () => {
    writeFileSync(inFolder('empty.jsonl'), '\n');
    const settings = { out: inFolder('no.html'), title: '', preset: 'paper', questions: [] };
    await expect(runView([inFolder('empty.jsonl')], settings)).rejects.toThrow(/trajectories/);
  });

  it('names methods after files, and runs after folders', () => {
    expect(defaultMethod('a/search-r1.jsonl')).toBe('search-r1');
    expect(defaultMethod('runs/mine/trajectories.jsonl')).toBe('mine');
    expect(defaultMethod('-')).toBe('standard input');
  });
});
