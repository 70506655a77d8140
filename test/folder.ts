import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach } from 'vitest';

/**
 * A new folder, deleted after the tests of the file or the `describe` that calls this.
 */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parallelsearch-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/**
 * A new folder for each test of the file or the `describe` that calls this. Returns a
 * function that gives paths in it.
 */
export function folderForEach(): (...parts: string[]) => string {
  const root = temporaryFolder();
  let folder = root;
  beforeEach(() => void (folder = mkdtempSync(path.join(root, 'test-'))));
  return (...parts) => path.join(folder, ...parts);
}
