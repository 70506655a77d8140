import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/extending.md');

describe('docs/extending.md', () => {
  it('shows code that stands in the examples, word for word', () => {
    const sections = page.split(/^## /m).slice(1);
    for (const section of sections) {
      const example = /\]\(\.\.\/(examples\/[^)]+)\)/.exec(section)?.[1];
      const excerpts = [...section.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
      expect(excerpts.length).toBeGreaterThan(0);
      for (const excerpt of excerpts) expect(read(example!)).toContain(excerpt);
    }
  });

  it('has a section for every example, each with its one line of registration', () => {
    const examples = readdirSync(new URL('examples/', root), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.ts'));
    for (const name of examples) {
      expect(page).toContain(`](../examples/${name})`);
      expect(read(`examples/${name}`).match(/^\/\/ The one line of registration\./gm)).toHaveLength(
        1,
      );
      const [, registration] = read(`examples/${name}`).split('// The one line of registration.');
      expect(registration.trimEnd().split('\n')).toHaveLength(2);
    }
  });
});
