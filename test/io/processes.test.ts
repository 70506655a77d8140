import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { trainInProcess } from '../../lib/io/processes.js';
import { folderForEach } from '../folder.js';

const inFolder = folderForEach();

/** The address of a module that a process runs. */
function moduleOf(script: string): string {
  writeFileSync(inFolder('module.mjs'), script);
  return pathToFileURL(inFolder('module.mjs')).href;
}

describe('trainInProcess', () => {
  it('passes on what a process with one thread says, but not the noise of TensorFlow', async () => {
    const lines: string[] = [];
    const script = `
      console.error('begun with ' + process.argv[2]);
      console.error('This binary is optimized with oneDNN');
      console.error('threads: ' + process.env.TF_NUM_INTRAOP_THREADS);`;
    await trainInProcess(moduleOf(script), { seed: 1 }, { log: (line) => lines.push(line) });
    expect(lines).toEqual(['begun with {"seed":1}', 'threads: 1']);
  });

  it('fails with the last words of a process that fails', async () => {
    const module = moduleOf(
      `console.error('first'); console.error('no such model'); process.exitCode = 3;`,
    );
    await expect(trainInProcess(module, {})).rejects.toThrow(
      'Training ended with code 3: no such model',
    );
  });

  it('lets a process end by itself after the signal, then throws the signal’s reason', async () => {
    const controller = new AbortController();
    const lines: string[] = [];
    const script = `
      const timer = setInterval(() => {}, 1000);
      process.on('SIGTERM', () => { console.error('saved'); clearInterval(timer); process.exitCode = 1; });
      console.error('ready');`;
    const training = trainInProcess(
      moduleOf(script),
      {},
      {
        signal: controller.signal,
        log: (line) => {
          lines.push(line);
          if (line === 'ready') controller.abort(new Error('enough'));
        },
      },
    );
    await expect(training).rejects.toThrow('enough');
    expect(lines).toEqual(['ready', 'saved']);
    const { signal } = controller;
    await expect(trainInProcess(moduleOf(''), {}, { signal })).rejects.toThrow('enough');
  });
});
