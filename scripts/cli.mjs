#!/usr/bin/env node
/**
 * The package's command, there before the build: npx caches which commands a clone has.
 */
import { existsSync } from 'node:fs';

const program = new URL('../dist/cli.js', import.meta.url);
if (existsSync(program)) await import(program.href);
else {
  process.stderr.write(
    'Expected a built project, but there is no dist/cli.js. Run `npm run build` first.\n',
  );
  process.exitCode = 1;
}
