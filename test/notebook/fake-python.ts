/** A program that answers like Python, for tests without Jupyter. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface FakePython {
  jupyterlab: string | null;
  /** Kernels installed at first. */
  kernels?: Record<string, { resource_dir: string; spec: object }>;
  /** Whether an installed kernel is hidden by another with its name. */
  isShadowed?: boolean;
}

/** Writes the program into `folder`; it stores its kernels in a file next to it. */
export function writeFakePython(folder: string, fake: FakePython): string {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'python');
  const about = { executable: file, python: '3.12.1', jupyterlab: fake.jupyterlab };
  const kernels = path.join(folder, 'kernels.json');
  writeFileSync(kernels, JSON.stringify(fake.kernels ?? {}));
  const lines = [
    `#!${process.execPath}`,
    `const fs = require('node:fs');`,
    `const [script, source, name] = process.argv.slice(3);`,
    `const kernels = JSON.parse(fs.readFileSync(${JSON.stringify(kernels)}, 'utf8'));`,
    `if (script.includes('get_all_specs')) console.log(JSON.stringify(kernels));`,
    `else if (script.includes('install_kernel_spec')) {`,
    `  const spec = JSON.parse(fs.readFileSync(source + '/kernel.json', 'utf8'));`,
    `  const folder = ${JSON.stringify(path.join(folder, 'kernels'))} + '/' + name;`,
    `  if (!${fake.isShadowed ?? false}) kernels[name] = { resource_dir: folder, spec };`,
    `  fs.writeFileSync(${JSON.stringify(kernels)}, JSON.stringify(kernels));`,
    `  console.log(folder);`,
    `} else console.log(${JSON.stringify(JSON.stringify(about))});`,
  ];
  writeFileSync(file, lines.join('\n'), { mode: 0o755 });
  return file;
}
