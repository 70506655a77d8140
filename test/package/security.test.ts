/** What SECURITY.md says of dependencies is so in the lock file. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Installed {
  version: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  peer?: boolean;
  link?: boolean;
}
const text = readFileSync('SECURITY.md', 'utf8');
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Installed>;
};
const nameOf = (path: string): string => path.split('node_modules/').at(-1)!;
/** Folders with what is in them, but for links to this project's own. */
const all = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
);
/** What comes with the package. */
const own = all.filter(
  ([, { dev, optional, devOptional, peer }]) => !(dev || optional || devOptional || peer),
);
const licences = (some: typeof all): Set<string> =>
  new Set(some.map(([, { license = '' }]) => license));
const atLeast = (version: string, least: string): boolean =>
  version.localeCompare(least, undefined, { numeric: true }) >= 0;

it('counts what is installed with the package, and names its licences and those of MPL-2.0', () => {
  expect(text).toContain(`(${own.length} packages)`);
  const sentence = /What is installed with it is under (.*): none asks/.exec(text)![1];
  expect(new Set(sentence.split(/, | and /))).toEqual(licences(own));
  const mpl = all.filter(([, { license }]) => license?.includes('MPL'));
  const families = mpl.map(([path]) => nameOf(path).replace(/^lightningcss-.*/, 'lightningcss'));
  for (const name of families) expect(text.split('**MPL-2.0**')[1]).toContain(`\`${name}\``);
});

it('has the versions in which the advisories of what is installed are fixed', () => {
  const rows = [...text.matchAll(/^\| `([^`]+)` \| \[.*? \| ([\d.]+) \|/gm)];
  expect(rows.length).toBeGreaterThan(5);
  for (const [, name, fixed] of rows) {
    const versions = own
      .filter(([path]) => nameOf(path) === name)
      .map(([, { version }]) => version);
    expect(versions, name).not.toEqual([]);
    for (const version of versions)
      expect(atLeast(version, fixed), `${name} ${version}`).toBe(true);
  }
});

it('installs none of those with open advisories along with the package', () => {
  const rows = [...text.matchAll(/^\| `([^`]+)` ([\d.]+), /gm)];
  expect(rows.length).toBeGreaterThan(5);
  for (const [, name, version] of rows) {
    expect(own.map(([path]) => nameOf(path))).not.toContain(name);
    const there = all.filter(([path]) => nameOf(path) === name).map(([, found]) => found.version);
    expect(
      there.some((found) => found.startsWith(`${version}.`)),
      `${name} ${version}: ${there.join(', ')}`,
    ).toBe(true);
  }
});
