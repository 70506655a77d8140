/** `parallelsearch runs [FOLDER]`: shows all runs in a folder on one page. */
import { once } from 'node:events';
import { Command } from 'commander';
import { writeFileSafely } from '../io/files.js';
import { runsPageHtml } from '../pages/runs/runs-page.js';
import { startRunsServer } from '../pages/runs/runs-server.js';
import { exitWith, interruptible, log, parsePort } from './common/cli-utils.js';

/** Serves the page until Ctrl-C, or writes it; the exit code is 130 or 0. */
async function runRuns(
  folder: string,
  { out, port }: { out?: string; port?: number },
): Promise<number> {
  if (out !== undefined) {
    await writeFileSafely(out, await runsPageHtml(folder));
    log(`Page of the runs in ${folder}: ${out}`);
    return 0;
  }
  return interruptible(
    async (signal) => {
      const server = await startRunsServer(folder, port);
      log(`Runs in ${folder} at ${server.url}; stop with Ctrl-C.`);
      if (!signal.aborted) await once(signal, 'abort');
      await server.close();
    },
    { stopped: 'Stopped.' },
  );
}

export function runsCommand(): Command {
  return new Command('runs')
    .description(
      'show all runs of a folder on a local page, also during training: final figures to sort, curves, settings, rollouts by step',
    )
    .argument('[folder]', 'folder that contains output folders of `train` and `sweep`', 'runs')
    .option('-o, --out <file>', 'write one HTML file that works offline instead')
    .option('--port <n>', 'port of the page (default: a free one)', parsePort)
    .action(exitWith(runRuns));
}
