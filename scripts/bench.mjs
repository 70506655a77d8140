/**
 * Runs a benchmark: `npm run bench -- NAME [arguments]`, where NAME is a file of
 * `bench/`. Node does not read TypeScript, so it is bundled first, into `dist/bench/`: as
 * deep as the library's modules, it finds the package's data as they do.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';
import { build } from 'rolldown';

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
const file = join(root, 'dist', 'bench', `${name}.mjs`);
await build({
  input: join(root, 'bench', `${name}.ts`),
  platform: 'node',
  logLevel: 'warn',
  // Packages stay where they are; our own modules are bundled.
  external: /^[^./]/,
  resolve: { extensionAlias: { '.js': ['.ts'] } },
  output: { file, codeSplitting: false },
});
try {
  await import(pathToFileURL(file).href);
} finally {
  rmSync(file);
}
