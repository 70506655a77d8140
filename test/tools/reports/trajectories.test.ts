import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  policyTitle,
  trajectories,
  TRAJECTORY_RUNS,
} from '../../../lib/experiments/trajectories.js';
import type { PolicyRun } from '../../../lib/experiments/running/policy-runs.js';
import { exportTrajectories } from '../../../tools/reports/pages.js';
import { openPage, testsPages } from '../../browser/chromium.js';
import { complaintsAboutReport } from '../../browser/page-checks.js';
import { writeRecords } from '../../experiments/synthetic.js';
import { temporaryFolder } from '../../folder.js';
import { syntheticQuestion, trajectoryLine } from '../../pages/viewer/synthetic.js';

const METHODS = TRAJECTORY_RUNS.map(policyTitle);
const REWARDS = { outcome: 1, decomposition: 0.15, search_count: 0.35, format: 0, total: 1.5 };
const questions = [0, 1, 2, 3].map(syntheticQuestion);

const root = temporaryFolder();

describe('exportTrajectories', () => {
  let file: string;
  beforeAll(async () => {
    const folder = path.join(root, 'experiment');
    await writeRecords(folder, trajectories, (run: PolicyRun) => ({
      lines: questions.map((question) =>
        trajectoryLine(question, [{ queries: ['Town0'] }], 'x', {
          method: policyTitle(run),
          rewards: REWARDS,
        }),
      ),
    }));
    const known = questions.map((question) => ({
      ...question,
      golden_answers: question.goldenAnswers,
    }));
    const questionFile = path.join(root, 'questions.jsonl');
    writeFileSync(questionFile, known.map((line) => JSON.stringify(line)).join('\n'));
    file = await exportTrajectories({ folder, outDir: root, questions: questionFile });
  });

  it('describes the trajectories, their rewards and provenance', () => {
    const html = readFileSync(file, 'utf8');
    const [, description] = /<meta name="description" content="([^"]+)"/.exec(html)!;
    expect(description).toMatch(/^24 trajectories: 4 questions/);
    for (const method of METHODS) expect(description).toContain(method);
    expect(html).toContain('one in 12 questions');
    expect(html).toContain('Eq. 3 to 7');
    expect(html).toContain('<dt>Commit</dt><dd>&lt;0000000&gt;</dd>');
  });

  describe.skipIf(!testsPages)('in Chromium (needs Chromium and test:full)', () => {
    it('compares any two methods, without empty fields', async () => {
      const { page, ...log } = await openPage(file);
      for (const method of METHODS.slice(1)) {
        await page.locator('[name=partner]').selectOption(method);
        const names = await page.locator('.facts dd:first-of-type').allTextContents();
        expect(names).toEqual([METHODS[0], method]);
      }
      const text = await page.locator('.detail').textContent();
      expect(text).toContain('Reward, as recorded');
      const rows = await page.evaluate<[string, string][]>(
        `[...document.querySelector('.scores table').rows].map(({ cells }) => [cells[0].textContent, cells[1].textContent])`,
      );
      const figures = rows.map(([, figure]) => Number(figure.replace('−', '-')));
      expect(rows.map(([name]) => name)).toEqual([
        'Outcome',
        'Decomposition',
        'Search count',
        'Format',
        'Total',
      ]);
      expect(figures.slice(0, -1).reduce((a, b) => a + b)).toBeCloseTo(figures.at(-1)!, 9);
      expect(text).not.toMatch(/advantage|group:|step(?!s)|undefined|null|NaN/i);
      await page.locator('#about > summary').click();
      expect(await page.locator('header #about dl').isVisible()).toBe(true);
      expect([...log.requests, ...log.complaints]).toEqual([]);
    });

    it('is accessible, with scripts and without', async () => {
      expect(await complaintsAboutReport(file)).toEqual([]);
    }, 300_000);
  });
});
