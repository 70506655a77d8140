/**
 * Runs a benchmark: `npm run bench -- NAME [arguments]`, where NAME is a file of
 * `bench/`.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';
import { register } from 'tsx/esm/api';

const root = fileURLToPath(new URL('..', import.meta.url));
const names = readdirSync(join(root, 'bench')).flatMap((file) =>
  file.endsWith('.ts') ? [file.slice(0, -3)] : [],
);
const [name] = process.argv.splice(2, 1);

if (!names.includes(name)) {
  console.error(
    `Expected the name of a benchmark, but it is ${name}. There are: ${names.join(', ')}.`,
  );
  process.exit(1);
}
// Node does not read TypeScript.
register();
await import(pathToFileURL(join(root, 'bench', `${name}.ts`)).href);
