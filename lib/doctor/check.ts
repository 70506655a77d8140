/** What the doctor looked at and found. */
export interface Check {
  /** A stable name for programs, such as `backend-wasm`. */
  id: string;
  title: string;
  /** `warning`: there, but less than what is good. */
  status: 'ok' | 'warning' | 'missing';
  /** Whether the project cannot do without. */
  required: boolean;
  /** What was found, with versions, or why it is missing. */
  detail: string;
  /** What to do about it; absent where all is well. */
  remedy?: string;
}

export interface Diagnosis {
  /** Whether nothing that is required is missing. */
  ok: boolean;
  checks: Check[];
}

export function diagnose(checks: Check[]): Diagnosis {
  return { ok: checks.every(({ status, required }) => status !== 'missing' || !required), checks };
}

const markOf = ({ status, required }: Check): string =>
  status === 'missing' ? (required ? 'MISSING' : 'absent') : status;

/** The diagnosis for people: a line a check, the remedy below. */
export function formatDiagnosis({ ok, checks }: Diagnosis): string {
  const width = Math.max(...checks.map(({ title }) => title.length));
  const lines = checks.flatMap((check) => [
    `${markOf(check).padEnd(8)} ${check.title.padEnd(width)}  ${check.detail}`,
    ...(check.remedy ? [`${' '.repeat(width + 9)}  -> ${check.remedy}`] : []),
  ]);
  const missing = checks.filter(({ status, required }) => status === 'missing' && required);
  const verdict = ok
    ? 'Everything required is there.'
    : `Required, but missing: ${missing.map(({ title }) => title).join(', ')}.`;
  return `${lines.join('\n')}\n\n${verdict}\n`;
}
