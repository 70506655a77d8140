/** The rules of axe-core, those of WCAG and its own best practices, in a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { BrowserPage } from './chromium.js';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Runs axe. Folded tables have thousands of rows, all alike, on which it would spend most of its time: five stand for
 * each table, and the others are put back behind them.
 */
const run = (options: object): string => `(async () => {
  const rows = [...document.querySelectorAll('details tbody tr:nth-child(n + 6)')];
  const bodies = rows.map((row) => row.parentElement);
  rows.forEach((row) => row.remove());
  const { violations } = await axe.run(document, ${JSON.stringify(options)});
  rows.forEach((row, i) => bodies[i].append(row));
  return violations;
})()`;

/**
 * What violates one of axe's rules in a page as it stands, a line for each element: rule, impact, selector. Scripts are
 * on afterwards, for axe is one; a page that was loaded without has missed its own.
 * @param rules only these; all that axe has on by default if left out
 */
export async function axeComplaints(page: BrowserPage, rules?: readonly string[]): Promise<string[]> {
  await page.send('Emulation.setScriptExecutionDisabled', { value: false });
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(`${SOURCE}; undefined`);
  const options = { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) };
  const violations = await page.evaluate<AxeResults['violations']>(run(options));
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ target }) => `${id} (${impact}): ${target.join(' ')}`),
  );
}
