/**
 * The output of `npm test`: one line per failed file, then the failures with what their
 * tests printed, then the skipped tests grouped by what they need (`(needs Chromium)` in
 * a title), then the numbers of tests.
 */
import { Writable } from 'node:stream';
import { group, sum } from 'd3-array';
import type { UserConsoleLog } from 'vitest';
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node';

const NEEDS = /\(needs ([^)]+)\)/g;
/** Maximum characters shown of output that bypasses the console. */
const MAX_RAW = 4000;

export default class FailuresReporter implements Reporter {
  private vitest!: Vitest;
  private readonly printed = new Map<string, string>();
  private raw = '';

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
    const keep = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.raw = (this.raw + chunk.toString()).slice(-MAX_RAW);
        done();
      },
    });
    // Workers pipe their output here; the logger itself prints elsewhere.
    Object.assign(vitest.logger, { outputStream: keep, errorStream: keep });
  }

  onUserConsoleLog({ taskId = '', content }: UserConsoleLog): void {
    this.printed.set(taskId, (this.printed.get(taskId) ?? '') + content);
  }

  onTestCaseResult(test: TestCase): void {
    if (test.result().state !== 'failed') this.printed.delete(test.id);
  }

  onTestModuleEnd(module: TestModule): void {
    if (module.state() !== 'failed') return;
    const numFailed = [...module.children.allTests('failed')].length;
    const what = isUnloadable(module) ? 'could not be loaded' : `${numFailed} failed`;
    this.vitest.logger.log(`FAIL ${module.relativeModuleId}: ${what}`);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const { logger } = this.vitest;
    for (const module of modules) {
      this.printErrors(module.relativeModuleId, module, module.errors());
      for (const suite of module.children.allSuites())
        this.printErrors(suite.fullName, suite, suite.errors());
      for (const test of module.children.allTests('failed'))
        this.printErrors(
          `${module.relativeModuleId} > ${test.fullName}`,
          test,
          test.result().errors,
        );
    }
    for (const error of unhandledErrors) logger.printError(error);
    const hasFailed = unhandledErrors.length > 0 || modules.some((module) => !module.ok());
    if (hasFailed && this.raw) logger.error(`\nWritten past the console:\n${this.raw}`);
    const skipped = group(
      modules.flatMap((module) => [...module.children.allTests('skipped')]),
      reasonOf,
    );
    for (const [reason, tests] of skipped) logger.log(`${tests.length} skipped: ${reason}`);
    const count = (state: 'passed' | 'failed' | 'skipped'): number =>
      sum(modules, ({ children }) => [...children.allTests(state)].length);
    const numUnloadable = modules.filter(isUnloadable).length;
    logger.log(
      `${count('passed')} passed, ${count('failed') + numUnloadable} failed, ${count('skipped')} skipped`,
    );
  }

  private printErrors(
    title: string,
    task: TestModule | TestSuite | TestCase,
    errors: readonly unknown[] = [],
  ): void {
    if (errors.length === 0) return;
    const { logger } = this.vitest;
    logger.error(`\n${title}`);
    for (const error of errors) logger.printError(error, { project: task.project });
    const printed = this.printed.get(task.id);
    if (printed) logger.error(`It printed:\n${printed}`);
  }
}

/** Counts as one failed test. */
const isUnloadable = (module: TestModule): boolean =>
  module.state() === 'failed' && [...module.children.allTests('failed')].length === 0;

function reasonOf(test: TestCase): string {
  const { note } = test.result() as { note?: string };
  if (note) return note;
  const needs = [...test.fullName.matchAll(NEEDS)].at(-1)?.[1];
  return needs ? `needs ${needs}` : `in ${test.module.relativeModuleId}`;
}
