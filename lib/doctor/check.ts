/** What the doctor looks at and finds, and how that is printed. */
export interface Check {
  /** A stable name for programs, such as `backend-wasm`. */
  id: string;
  title: string;
  /** Whether the project cannot do without. */
  required: boolean;
  /** `warning`: there, but less than what is good. */
  status: 'ok' | 'warning' | 'missing';
  /** What was found, with versions, or why it is missing. */
  detail: string;
  /** What to do about it; absent where all is well. */
  remedy?: string;
}

/**
 * What is there, with versions; or what is wrong, with a remedy where the part's own does
 * not fit.
 */
export type Finding =
  string | (Pick<Check, 'detail' | 'remedy'> & { status: 'warning' | 'missing' });

/** Something to look at. A look that throws finds it missing. */
export interface Part extends Pick<Check, 'id' | 'title' | 'required' | 'remedy'> {
  look: () => Finding | Promise<Finding>;
}

export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0];

/** Why a look failed: for an optional part its remedy is told beside. */
const reasonOf = (error: unknown): string => firstLine((error as Error)?.cause ?? error);

/** Looks at one thing after the other, so that what is measured is not disturbed. */
export async function diagnose(parts: readonly Part[]): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { look, remedy, ...part } of parts) {
    const found = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => ({ status: 'missing' as const, detail: reasonOf(error) }));
    checks.push(
      typeof found === 'string'
        ? { ...part, status: 'ok', detail: found }
        : { ...part, remedy, ...found },
    );
  }
  return checks;
}

const isLacking = ({ status, required }: Check): boolean => status === 'missing' && required;

/** Whether nothing that is required is missing. */
export const isComplete = (checks: readonly Check[]): boolean => !checks.some(isLacking);

/** The diagnosis for people: a line a check, the remedy below. */
export function formatDiagnosis(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ title }) => title.length));
  const lines = checks.flatMap((check) => {
    const mark = isLacking(check)
      ? 'MISSING'
      : check.status === 'missing'
        ? 'absent'
        : check.status;
    return [
      `${mark.padEnd(8)} ${check.title.padEnd(width)}  ${check.detail}`,
      ...(check.remedy ? [`${' '.repeat(width + 9)}  -> ${check.remedy}`] : []),
    ];
  });
  const lacking = checks.filter(isLacking).map(({ title }) => title);
  const verdict =
    lacking.length === 0
      ? 'Everything required is there.'
      : `Required, but missing: ${lacking.join(', ')}.`;
  return `${lines.join('\n')}\n\n${verdict}\n`;
}
