/** `parallelsearch data`: the group of `data make`, `data check` and `data convert`. */
import { Command } from 'commander';
import { checkCommand } from './data-check.js';
import { convertCommand } from './data-convert.js';
import { makeCommand } from './data-make.js';

export const dataCommand = (): Command =>
  new Command('data')
    .description(
      'make passages from documents (data make), check your data (data check), convert benchmarks (data convert)',
    )
    .addCommand(makeCommand())
    .addCommand(checkCommand())
    .addCommand(convertCommand());
