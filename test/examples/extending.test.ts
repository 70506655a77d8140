import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/extending.md');

describe('docs/extending.md', () => {
  it('shows code of the examples', () => {
    const sections = page.split(/^## /m).filter((section) => section.includes('](../examples/'));
    for (const section of sections) {
      const [, example] = /\]\(\.\.\/(examples\/[^)]+)\)/.exec(section)!;
      const excerpts = [...section.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
      expect(excerpts.length).toBeGreaterThan(0);
      for (const excerpt of excerpts) expect(read(example)).toContain(excerpt);
    }
  });

  it('has a section for every example', () => {
    const examples = readdirSync(new URL('examples/', root));
    for (const name of examples) expect(page).toContain(`](../examples/${name})`);
  });
});
