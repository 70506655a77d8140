import { Command } from 'commander';
import { checkCommand } from './data-check.js';
import { convertCommand } from './data-convert.js';
import { makeCommand } from './data-make.js';

export const dataCommand = (): Command =>
  new Command('data')
    .description(
      'your own data: passages from documents (data make), check (data check), convert (data convert)',
    )
    .addCommand(makeCommand())
    .addCommand(checkCommand())
    .addCommand(convertCommand());
