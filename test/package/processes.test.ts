/**
 * Test files share processes: what would be felt by others has to stand in a file that
 * has one of its own.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';

const REPLACES =
  /\bvi\.(mock|doMock|hoisted)\(|^\s*process\.env\.\w+ \??= |^\s*(?!expect)[A-Z_]{4,}\.add\(/m;

it('test files that replace modules, set the environment or add to registries are called *.alone.test.ts', () => {
  const all = readdirSync(packagePath('test'), { recursive: true, encoding: 'utf8' });
  const files = all
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.replaceAll('\\', '/'));
  expect(files.length).toBeGreaterThan(200);
  const felt = files.filter((file) =>
    REPLACES.test(readFileSync(packagePath('test', file), 'utf8')),
  );
  expect(felt.filter((file) => !file.endsWith('.alone.test.ts'))).toEqual([]);
  expect(felt).toContain('methods/config.alone.test.ts');
});
