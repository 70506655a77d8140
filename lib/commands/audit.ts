/**
 * `parallelsearch audit FILE...`: checks whether recorded rollouts train exactly what the
 * policy wrote, and how far their log-probs are from this library's.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import {
  AUDIT_CHECKS,
  CHECKS,
  auditRow,
  numTrainedTokens,
  numTurns,
  type AuditCheck,
  type AuditFault,
  type AuditModel,
} from '../interop/audit.js';
import { readTokenRows, type TokenRow } from '../interop/token-rows.js';
import { readJsonLines } from '../io/files.js';
import { readParquet } from '../io/parquet.js';
import { shortPath } from '../io/paths.js';
import { withTimeLimit } from '../io/time-limit.js';
import { readTokenizerConfig } from '../io/tokenizer-config.js';
import { readTokenizer } from '../policy/folders/limited-tokenizer.js';
import type { BackendName } from '../tensor/backend.js';
import { conversationTemplate } from '../text/tokenizer/chat-template.js';
import { IMPORTANCE_SAMPLING_MODES } from '../training/importance-sampling.js';
import { adapterBase, modelPath } from '../training/models.js';
import { choice, exitWith, parseTemperature } from './common/cli-utils.js';
import { backendOption } from './common/options.js';
import { announceBackend } from './common/setup.js';

interface AuditSettings {
  model?: string;
  adapter?: string;
  score?: boolean;
  temperature: number;
  importanceSamplingMode: (typeof IMPORTANCE_SAMPLING_MODES)[number];
  backend: BackendName | 'auto';
  json?: boolean;
}

interface CheckResult {
  check: AuditCheck;
  numChecked: number;
  numBroken: number;
  first?: AuditFault & { file: string; row: number };
}

interface AuditReport {
  numRows: number;
  numTurns: number;
  numTrainedTokens: number;
  formats: string[];
  checks: CheckResult[];
  /** The sampler's log-probs compared with the model's; with `--score`. */
  sampling?: Record<string, number>;
}

const RECORDINGS = /^(trajectories|traces)\.jsonl$|^completions_\d+\.parquet$/;

/** A file, or the recordings in a folder: of a run, verifiers or TRL. */
function recordings(place: string): string[] {
  if (!existsSync(place) || !statSync(place).isDirectory()) return [place];
  const names = readdirSync(place).filter((name) => RECORDINGS.test(name));
  if (names.length === 0)
    throw new Error(
      `Expected trajectories.jsonl, traces.jsonl or completions_STEP.parquet in ${place}, but there is none. Name the file.`,
    );
  return names.map((name) => path.join(place, name));
}

/** The rows of a JSON Lines or Parquet file, numbered from 1. */
async function* readRecording(file: string): AsyncGenerator<{ row: number; value: TokenRow[] }> {
  let row = 0;
  if (file.endsWith('.parquet')) {
    for (const value of await readParquet(file)) {
      row++;
      try {
        yield { row, value: readTokenRows(value) };
      } catch (cause) {
        throw new Error(`${file}, row ${row}: ${(cause as Error).message}`, { cause });
      }
    }
    return;
  }
  for await (const value of readJsonLines(file, readTokenRows, 'recorded rollouts'))
    yield { row: ++row, value };
}

function count(
  results: readonly CheckResult[],
  row: TokenRow,
  place: { model: AuditModel | undefined; file: string; row: number },
): boolean {
  const { model, ...where } = place;
  const outcomes = auditRow(row, model);
  for (const result of results) {
    const outcome = outcomes[result.check];
    if (outcome === undefined) continue;
    result.numChecked++;
    if (!outcome) continue;
    result.numBroken++;
    result.first ??= { ...where, ...outcome };
  }
  return AUDIT_CHECKS.every((check) => !outcomes[check]);
}

async function audit(files: readonly string[], settings: AuditSettings): Promise<AuditReport> {
  const folder = await modelFolder(settings);
  const model = folder === undefined ? undefined : await auditModel(folder);
  const checks = AUDIT_CHECKS.map((check): CheckResult => ({ check, numChecked: 0, numBroken: 0 }));
  const report: AuditReport = { numRows: 0, numTurns: 0, numTrainedTokens: 0, formats: [], checks };
  const scored: TokenRow[] = [];
  for (const file of files.flatMap(recordings))
    for await (const { row, value } of readRecording(file)) {
      report.numRows++;
      for (const one of value) {
        if (!report.formats.includes(one.format)) report.formats.push(one.format);
        report.numTurns += numTurns(one);
        report.numTrainedTokens += numTrainedTokens(one);
        const isClean = count(checks, one, { model, file, row });
        if (settings.score && isClean) scored.push(one);
      }
    }
  if (report.numRows === 0)
    throw new Error(`Expected rollouts in ${files.join(', ')}, but there are none.`);
  if (settings.score && folder !== undefined) {
    await announceBackend(settings.backend);
    const { scoreRows } = await import('../interop/sampling-audit.js');
    report.sampling = await scoreRows(scored, { ...settings, model: folder });
  }
  return report;
}

async function modelFolder({ model, adapter, score }: AuditSettings): Promise<string | undefined> {
  if (model !== undefined) return modelPath(model);
  if (adapter !== undefined) return adapterBase(adapter);
  if (score)
    throw new Error('Expected --model or --adapter with --score: the model that is to be trained.');
  return undefined;
}

async function auditModel(folder: string): Promise<AuditModel> {
  const render = conversationTemplate(await readTokenizerConfig(folder));
  const file = shortPath(path.join(folder, 'tokenizer_config.json'));
  return {
    tokenizer: await readTokenizer(folder),
    template:
      render && ((messages, options) => withTimeLimit(file, 0, () => render(messages, options))),
  };
}

function formatReport(report: AuditReport): string {
  const { numRows, numTurns, numTrainedTokens, formats, checks, sampling } = report;
  const counts = [numRows, numTurns, numTrainedTokens].map((n) => n.toLocaleString('en-US'));
  const width = Math.max(...AUDIT_CHECKS.map((name) => name.length));
  const lines = checks.map(({ check, numChecked, numBroken, first }) => {
    const name = check.padEnd(width);
    if (!first)
      return `${name}  ${numChecked > 0 ? `ok in ${numChecked}` : `not checked: ${CHECKS[check].notChecked}`}`;
    const turn = first.turn === null ? 'a turn (--model tells which)' : `turn ${first.turn}`;
    return `${name}  BROKEN in ${numBroken} of ${numChecked}. First: ${first.file}, row ${first.row}, ${turn}: ${first.message}.\n${' '.repeat(width)}  ${first.remedy}`;
  });
  const metrics = Object.entries(sampling ?? {}).map(
    ([name, value]) => `${name.padEnd(44)}${value.toPrecision(4)}`,
  );
  return [
    `${counts[0]} rollouts (${formats.join(', ')}), ${counts[1]} turns, ${counts[2]} trained tokens`,
    ...lines,
    ...(metrics.length > 0 ? ['', ...metrics] : []),
  ].join('\n');
}

/** Prints the report. Returns the exit code: 1 if a check found a fault. */
async function runAudit(files: readonly string[], settings: AuditSettings): Promise<number> {
  const report = await audit(files, settings);
  process.stdout.write(`${settings.json ? JSON.stringify(report) : formatReport(report)}\n`);
  return report.checks.some(({ numBroken }) => numBroken > 0) ? 1 : 0;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description(
      'check that recorded rollouts train exactly what the policy wrote: prefixes, masks, separators, log-probs',
    )
    .argument(
      '<files...>',
      'JSONL or Parquet files with token ids from this project, verl, TRL or verifiers (see docs/verl.md), or folders of such files',
    )
    .option('--model <name>', 'model whose tokenizer and chat template check ids and separators')
    .option('--adapter <folder>', 'adapter in PEFT format, for --score')
    .option('--score', 'compare recorded log-probs with the model’s: ratios, effective sample size')
    .option('--temperature <t>', 'sampling temperature, for --score', parseTemperature, 1)
    .addOption(
      choice(
        '--importance-sampling-mode <mode>',
        'level and limit of the ratios, for --score',
        IMPORTANCE_SAMPLING_MODES,
        'sequence_mask',
      ),
    )
    .addOption(backendOption())
    .option('--json', 'print the report as JSON')
    .action(exitWith(runAudit));
}
