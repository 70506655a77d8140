import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { bundleScript } from '../../lib/pages/page.js';

/** As modules of `lib/` name their pages' scripts. */
const module = (name: string): URL => new URL(`../../lib/${name}`, import.meta.url);

describe('bundleScript', () => {
  it.each(['pages/browser/report.js', 'pages/viewer/browser/main.js', 'pages/run/browser/main.js'])(
    'bundles %s into one classic script, cached',
    async (name) => {
      const script = await bundleScript(module(name));
      expect(() => new Script(script)).not.toThrow();
      expect(script).not.toMatch(/\bimport\(|\brequire\(/);
      expect(bundleScript(module(name))).toBe(bundleScript(module(name)));
    },
  );

  it('names a missing module', async () => {
    await expect(bundleScript(module('pages/absent.js'))).rejects.toThrow('absent');
  });
});
