import { describe, expect, it } from 'vitest';
import { trainCommand } from '../../lib/commands/train.js';

/** What the command says of arguments that it refuses. */
async function complaintOf(...args: string[]): Promise<string> {
  let said = '';
  const command = trainCommand()
    .exitOverride()
    .configureOutput({ writeErr: (text) => void (said += text) });
  await expect(command.parseAsync(args, { from: 'user' })).rejects.toThrow();
  return said;
}

describe('train', () => {
  it('names a step to keep that is no step', async () => {
    for (const [list, wrong] of [
      ['0,3', '0'],
      ['3,six', 'six'],
      ['3,,6', ''],
      ['2.5', '2.5'],
    ])
      expect(await complaintOf('--keep-steps', list)).toContain(
        `Expected an integer >= 1, but got ${wrong}.`,
      );
  });

  it('takes steps to keep in any order, with spaces', () => {
    const command = trainCommand().action(() => undefined);
    command.parse(['--keep-steps', '10, 3'], { from: 'user' });
    expect(command.opts<{ keepSteps: number[] }>().keepSteps).toEqual([10, 3]);
  });
});
