import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runScore, type ScoreSettings } from '../../lib/commands/score.js';
import { subQuestion } from '../data/questions.js';
import { temporaryFolder } from '../folder.js';

/** The fields of a JSON line that are checked. */
interface ScoreLine {
  id: string;
  total: number;
}

const goodLine = (id: string, changes: object = {}): string =>
  JSON.stringify({
    id,
    golden_answers: ['x'],
    response: '<think> \u2028t </think><answer> x </answer>',
    metadata: { type: 'single_hop' },
    ...changes,
  });

const folder = temporaryFolder();

function writeFile(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

class TextSink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Runs the command with fake streams. */
async function score(
  files: string[],
  settings: Partial<ScoreSettings> = {},
  stdin = '',
): Promise<{ exitCode: number; out: string; complaints: string; scores: ScoreLine[] }> {
  const [stdout, stderr] = [new TextSink(), new TextSink()];
  const streams = { stdin: Readable.from([stdin], { objectMode: false }), stdout, stderr };
  const exitCode = await runScore(files, { preset: 'paper', ...settings }, streams);
  const lines = stdout.text.split('\n').filter((line) => settings.json && line !== '');
  const scores = lines.map((line) => JSON.parse(line) as ScoreLine);
  return { exitCode, out: stdout.text, complaints: stderr.text, scores };
}

describe('score', () => {
  it('prints JSON Lines for every file in order', async () => {
    const first = writeFile('first.jsonl', `\uFEFF${goodLine('a')}\r\n\n${goodLine('b')}`);
    const second = writeFile('second.jsonl', `${goodLine('c')}\n`);
    const { exitCode, scores, complaints } = await score([first, second], { json: true });
    expect({ exitCode, complaints }).toEqual({ exitCode: 0, complaints: '' });
    expect(scores.map((s) => s.id)).toEqual(['a', 'b', 'c']);
    expect(scores[0]).toMatchObject({
      exactMatch: 1,
      f1: 1,
      formatOk: true,
      turns: 0,
      decomposed: false,
      outcome: 1,
      decomposition: 0.15,
      search_count: -0.35,
      format: 0,
    });
    expect(scores[0].total).toBeCloseTo(0.8, 12);
  });

  it('reads standard input and prints a table', async () => {
    const { exitCode, out } = await score(['-'], {}, `${goodLine('a')}\n`);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^id +question type +EM +F1/);
    expect(out).toMatch(/\nmean +n = 1 +1\.000 +1\.000 /);
  });

  it('aligns columns and prints means per question type and of all', async () => {
    const line = (id: string, type: string, gold: string): string =>
      goodLine(id, { golden_answers: [gold], metadata: { type } });
    const long = line('a-very-long-identifier-of-a-question', 'comparison', 'y');
    const { out } = await score(['-'], {}, `${long}\n${line('b', 'bridge', 'x')}\n`);
    const lines = out.trimEnd().split('\n');
    expect(new Set(lines.map((one) => one.length)).size).toBe(1);
    expect(lines.at(-1)).toMatch(
      /^mean +n = 2 +0\.500 +0\.500 +1\.000 +0\.000 +1\.000 +0\.000 +0\.500 /,
    );
    expect(lines.slice(-3, -1).map((one) => one.split(' ')[0])).toEqual([
      'parallelizable',
      'sequential',
    ]);
    expect((await score(['-'], {}, '')).out).toBe('No transcripts.\n');
  });

  it('keeps equal ids of two benchmarks or methods apart', async () => {
    const metadata = { type: 'bridge', benchmark: 'musique' };
    const lines = [{ metadata }, { method: 'mine' }].map((more) => `${goodLine('a', more)}\n`);
    const { scores } = await score(['-'], { json: true }, lines.join(''));
    expect(scores).toMatchObject([
      { id: 'a', benchmark: 'musique', method: null },
      { id: 'a', benchmark: null, method: 'mine' },
    ]);
    const { out } = await score(['-'], {}, lines.join(''));
    for (const name of ['mine', 'no method', 'musique', 'no benchmark'])
      expect(out).toMatch(new RegExp(`^${name} +n = 1 `, 'm'));
  });

  it('marks ambiguous transcripts', async () => {
    const block = '<information>Doc 1(Title: t) x</information>';
    const response = `<search> a </search><search> b </search>${block}<answer> x </answer>`;
    const { out } = await score(['-'], {}, `${goodLine('a')}\n${goodLine('b', { response })}\n`);
    expect(out).toMatch(/^b \? +single_hop +1 +1.000 +bad/m);
    expect(out).toContain('1 of 2 transcripts');
    expect((await score(['-'], {}, goodLine('a'))).out).not.toContain('?');
  });

  it.each([
    [`[${goodLine('a')}]`, 'one JSON object per line'],
    [JSON.stringify([{ id: 1 }], null, 1), "jq -c '.[]'"],
    [JSON.stringify({ id: 1 }, null, 1), 'jq -c .'],
    ['{"custom_id": "a", "response": {"body": {}}}', "OpenAI's batch output"],
    ['{"version": "2.0", "data": []}', 'but got version and data'],
  ])('says what it expects instead of %j', async (text, expected) => {
    const { exitCode, complaints } = await score(['-'], {}, text);
    expect(exitCode).toBe(1);
    expect(complaints).toContain(expected);
  });

  it('follows the preset', async () => {
    const file = writeFile('a.jsonl', goodLine('a'));
    const { scores } = await score([file], { json: true, preset: 'search-r1' });
    expect(scores[0].total).toBe(1);
    await expect(score([file], { preset: 'other' })).rejects.toThrow('but got other');
  });

  describe('--behaviour', () => {
    const block = '<information>Doc 1(Title: Ada) born in 1922</information>';
    const foreign = (id: string, query: string, extra: object = {}): string =>
      goodLine(id, {
        question: 'Who is older, Ada Stone or Bo Reed?',
        golden_answers: ['Bo Reed'],
        response: `<search> ${query} </search>${block}<answer> Ada Stone </answer>`,
        metadata: undefined,
        ...extra,
      });
    const lines = [
      foreign('a', 'Ada Stone or Bo Reed'),
      foreign('b', 'Ada Stone', { metadata: { type: 'comparison' } }),
      foreign('c', 'Bo Reed', { max_search_turns: 1 }),
    ].join('\n');

    it("adds labels of another system's file to each line", async () => {
      const { scores } = await score(['-'], { json: true, behaviour: true }, lines);
      expect(scores).toMatchObject([
        { id: 'a', behaviour: { compound_query: true, repeated_query: false, gave_up: null } },
        { id: 'b', behaviour: { compound_query: false, answer_not_shown: true } },
        { id: 'c', behaviour: { out_of_turns: false } },
      ]);
      const [plain] = (await score(['-'], { json: true }, lines)).scores;
      expect(plain).not.toHaveProperty('behaviour');
    });

    it('prints shares of labels with intervals by question type, and lists unknown labels', async () => {
      const { out } = await score(['-'], { behaviour: true }, lines);
      expect(out).toMatch(/^behaviour +share +95 % +parallelizable +unknown$/m);
      expect(out).toMatch(
        /^compound_query +1 of 3 +0\.333 +\[0\.0\d\d, 0\.79\d\] +0\.000 +0\.500$/m,
      );
      expect(out).toMatch(/^Not known for these answers: under_search, .*gave_up/m);
      expect((await score(['-'], {}, lines)).out).not.toContain('compound_query');
    });

    it('uses the graphs of --questions, and --max-turns if a line does not have it', async () => {
      const node = (entity: string) => subQuestion(entity, { entity, evidence: [entity] });
      const graph = [node('Ada Stone'), node('Bo Reed')];
      const { question, golden_answers } = JSON.parse(foreign('a', '')) as Record<string, unknown>;
      const data = { id: 'a', question, golden_answers, metadata: { graph } };
      const questions = [writeFile('questions.jsonl', JSON.stringify(data))];
      const found = (id: string) => ({
        queries: [id],
        results: [{ status: 'ok', passages: [{ id, title: id, score: 1 }] }],
      });
      const own = (searches: string[], extra: object) =>
        JSON.stringify({
          questionId: 'a',
          question,
          goldenAnswers: golden_answers,
          segments: [
            ...searches.flatMap((query) => [
              { kind: 'policy', text: `<search> ${query} </search>` },
              { kind: 'information', text: block },
            ]),
            { kind: 'policy', text: '<answer> Ada Stone </answer>' },
          ],
          searchTurns: searches.map(found),
          finish: 'answer',
          ...extra,
        });
      const recorded = [
        own(['Ada Stone'], {}),
        own(['Ada Stone'], { maxSearchTurns: 1 }),
        own(['Ada Stone', 'Bo Reed'], {}),
      ].join('\n');
      const settings = { json: true, behaviour: true, questions, maxTurns: 3 };
      const { scores, complaints } = await score(['-'], settings, recorded);
      expect(complaints).toBe('');
      const other = await score(['-'], settings, own([], { question: 'Other?' }));
      expect(other.complaints).toMatch(/^Found no matching question in .*jsonl for 1 transcript\./);
      expect(scores).toMatchObject([
        { behaviour: { gave_up: true, wrong_comparison: false, under_search: true } },
        { behaviour: { gave_up: false, incomplete_evidence: true } },
        { behaviour: { gave_up: false, wrong_comparison: true, under_search: false } },
      ]);
    });
  });

  it('reports invalid lines and files, scores the others, and returns 1', async () => {
    const file = writeFile(
      'bad.jsonl',
      `${goodLine('a')}\n{"id": \n{"id": "x"}\n\n${goodLine('b')}\n${goodLine('c', { golden_answers: [] })}\n${goodLine('d', { golden_answers: [' '] })}\n`,
    );
    const { exitCode, scores, complaints } = await score([join(folder, 'absent.jsonl'), file], {
      json: true,
    });
    expect(exitCode).toBe(1);
    expect(scores.map((s) => s.id)).toEqual(['a', 'b']);
    const lines = complaints.trimEnd().split('\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain('absent.jsonl: no such file or directory');
    expect(lines[1]).toContain('bad.jsonl:2: ');
    expect(lines[2]).toContain('bad.jsonl:3: ');
    expect(lines[3]).toContain('bad.jsonl:6: golden_answers: Expected at least one');
    expect(lines[4]).toContain('bad.jsonl:7: golden_answers: Expected at least one');
  });

  it('reports a file without transcripts once', async () => {
    const corpus = writeFile('corpus.jsonl', '{"id": "p", "contents": "T\\nx"}\n'.repeat(1000));
    expect((await score([corpus])).out).toBe('');
    const { exitCode, complaints } = await score([corpus, writeFile('good.jsonl', goodLine('a'))]);
    expect(exitCode).toBe(1);
    expect(complaints).toContain(`${corpus}:1: `);
    expect(complaints.trimEnd()).not.toContain('\n');
  });

  it('stops quietly when its reader exits, but reports other errors', async () => {
    const file = writeFile(
      'a.jsonl',
      Array.from({ length: 50 }, (_, i) => goodLine(`q${i}`)).join('\n'),
    );
    const failing = (code: string) => ({
      stdin: Readable.from([]),
      stderr: new TextSink(),
      stdout: new Writable({
        write: (_, __, done) => done(Object.assign(new Error(code), { code })),
      }),
    });
    const gone = failing('EPIPE');
    await expect(runScore([file], { preset: 'paper', json: true }, gone)).resolves.toBe(0);
    await expect(runScore([file], { preset: 'paper' }, gone)).resolves.toBe(0);
    const full = failing('ENOSPC');
    await expect(runScore([file], { preset: 'paper', json: true }, full)).rejects.toThrow('ENOSPC');
  });
});
