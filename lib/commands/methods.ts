/** `parallelsearch methods`: lists the methods. */
import { Command } from 'commander';
import { alignColumns } from '../report/table-formats.js';
import { METHODS, type Method } from '../training/methods.js';

/** `grpo, rewards paper`, `weights of search-r1`, or `–` for the initial model. */
function describeTraining({ training }: Method): string {
  if (!training) return '–';
  if ('weightsFrom' in training) return `weights of ${training.weightsFrom}`;
  return `${training.trainer}, rewards ${training.rewards}`;
}

function methodLines(methods: readonly Method[]): string[] {
  const lines = methods.map((method) => [
    method.name,
    method.title,
    describeTraining(method),
    method.source,
  ]);
  return alignColumns([['method', 'title', 'trained by', 'source'], ...lines]);
}

/** Prints the methods in the order of tables, as a table or as JSON Lines. */
function runMethods({ json = false }: { json?: boolean } = {}): void {
  const methods = METHODS.all();
  const lines = json
    ? methods.map(({ name, title, source, training }) =>
        JSON.stringify({ name, title, source, training }),
      )
    : [
        ...methodLines(methods),
        '',
        'Train one by `train --method NAME`, evaluate several by `evaluate --methods NAME,NAME`.',
      ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

export const methodsCommand = (): Command =>
  new Command('methods')
    .description('list methods: name, title, how each is trained, source')
    .option('--json', 'print JSON Lines instead of the table')
    .action(runMethods);
