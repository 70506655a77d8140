/**
 * What `npm test` prints: a line for each file that fails, then the failures, then the
 * skipped tests grouped by what they need (`(needs Chromium)` in a title says it).
 */
import { group } from 'd3-array';
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';

const NEEDS = /\(needs ([^)]+)\)/;

export default class FailuresReporter implements Reporter {
  private vitest!: Vitest;

  onInit(vitest: Vitest): void {
    this.vitest = vitest;
  }

  onTestModuleEnd(module: TestModule): void {
    if (module.state() !== 'failed') return;
    const numFailed = [...module.children.allTests('failed')].length;
    const what = numFailed > 0 ? `${numFailed} failed` : 'could not be loaded';
    this.vitest.logger.log(`FAIL ${module.relativeModuleId}: ${what}`);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const { logger } = this.vitest;
    for (const module of modules) {
      for (const error of module.errors()) this.printError(module.relativeModuleId, module, error);
      for (const suite of module.children.allSuites())
        for (const error of suite.errors()) this.printError(suite.fullName, module, error);
      for (const test of module.children.allTests('failed'))
        for (const error of test.result().errors ?? [])
          this.printError(`${module.relativeModuleId} > ${test.fullName}`, module, error);
    }
    for (const error of unhandledErrors) logger.printError(error);
    const skipped = group(
      modules.flatMap((module) => [...module.children.allTests('skipped')]),
      reasonOf,
    );
    for (const [reason, tests] of skipped) logger.log(`${tests.length} skipped: ${reason}`);
  }

  private printError(title: string, module: TestModule, error: unknown): void {
    this.vitest.logger.log(`\n${title}`);
    this.vitest.logger.printError(error, { project: module.project });
  }
}

function reasonOf(test: TestCase): string {
  const { note } = test.result() as { note?: string };
  if (note) return note;
  const needs = NEEDS.exec(test.fullName)?.[1];
  return needs ? `needs ${needs}` : `in ${test.module.relativeModuleId}`;
}
