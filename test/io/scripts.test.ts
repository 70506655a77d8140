import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runScript } from '../../lib/io/scripts.js';
import { folderForEach } from '../folder.js';

const inFolder = folderForEach();

/** Writes a module. Returns its URL. */
function moduleOf(script: string): string {
  writeFileSync(inFolder('module.mjs'), script);
  return pathToFileURL(inFolder('module.mjs')).href;
}

describe('runScript', () => {
  it("passes on stderr without TensorFlow's startup messages", async () => {
    const lines: string[] = [];
    const script = `
      console.error('begun with ' + process.argv[2]);
      console.error('This binary is optimized with oneDNN');
      console.error('threads: ' + process.env.TF_NUM_INTRAOP_THREADS);`;
    const environment = { TF_NUM_INTRAOP_THREADS: '1' };
    await runScript(
      moduleOf(script),
      { seed: 1 },
      { log: (line) => lines.push(line), environment },
    );
    expect(lines).toEqual(['begun with {"seed":1}', 'threads: 1']);
  });

  it('runs a TypeScript module in tools/', async () => {
    const lines: string[] = [];
    const module = new URL('../fixtures/tool.ts', import.meta.url).href;
    await runScript(module, { name: 'base' }, { log: (line) => lines.push(line) });
    expect(lines).toEqual(['trained base']);
  });

  it('fails with the last line of a failed process', async () => {
    const module = moduleOf(
      `console.error('first'); console.error('no such model'); process.exitCode = 3;`,
    );
    await expect(runScript(module, {})).rejects.toThrow(/code 3: no such model/);
  });

  it("waits for the process to stop, then throws the signal's reason", async () => {
    const controller = new AbortController();
    const lines: string[] = [];
    const script = `
      const timer = setInterval(() => {}, 1000);
      process.on('SIGTERM', () => { console.error('saved'); clearInterval(timer); process.exitCode = 1; });
      console.error('ready');`;
    const { signal } = controller;
    const log = (line: string): void => {
      lines.push(line);
      if (line === 'ready') controller.abort(new Error('enough'));
    };
    const training = runScript(moduleOf(script), {}, { signal, log });
    await expect(training).rejects.toThrow('enough');
    expect(lines).toEqual(['ready', 'saved']);
    await expect(runScript(moduleOf(''), {}, { signal })).rejects.toThrow('enough');
  });
});
