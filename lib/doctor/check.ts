/** Runs the doctor's checks and prints them. */
export interface Check {
  /** Stable id, such as `backend-wasm`. */
  id: string;
  title: string;
  required: boolean;
  /** `warning`: there, but not as good as it should be. */
  status: 'ok' | 'warning' | 'missing';
  /** Versions found, or why it is missing. */
  detail: string;
  /** How to fix it; absent if all is well. */
  remedy?: string;
}

/** Versions found, or what is wrong, with a remedy that replaces the part's. */
export type Finding =
  | string
  | (Pick<Check, 'detail' | 'remedy'> & { status: 'warning' | 'missing' });

/** Something to check; a `look` that throws means it is missing. */
export interface Part extends Pick<Check, 'id' | 'title' | 'required' | 'remedy'> {
  look: () => Finding | Promise<Finding>;
}

export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0];

/** Checks one part after the other, so that measurements are not disturbed. */
export async function diagnose(parts: readonly Part[]): Promise<Check[]> {
  const checks: Check[] = [];
  for (const { look, remedy, ...part } of parts) {
    const finding = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => ({
        status: 'missing' as const,
        detail: firstLine((error as Error)?.cause ?? error),
      }));
    checks.push(
      typeof finding === 'string'
        ? { ...part, status: 'ok', detail: finding }
        : { ...part, remedy, ...finding },
    );
  }
  return checks;
}

const isLacking = ({ status, required }: Check): boolean => status === 'missing' && required;

/** Whether all required parts are there. */
export const isComplete = (checks: readonly Check[]): boolean => !checks.some(isLacking);

/** One line per check, with its remedy below. */
export function formatDiagnosis(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ title }) => title.length));
  const lines = checks.flatMap((check) => {
    const mark =
      check.status === 'missing' ? (check.required ? 'MISSING' : 'absent') : check.status;
    return [
      `${mark.padEnd(8)} ${check.title.padEnd(width)}  ${check.detail}`,
      ...(check.remedy ? [`${' '.repeat(width + 9)}  -> ${check.remedy}`] : []),
    ];
  });
  const lacking = checks.filter(isLacking).map(({ title }) => title);
  const verdict =
    lacking.length === 0 ? 'Everything required is installed.' : `Missing: ${lacking.join(', ')}.`;
  return `${lines.join('\n')}\n\n${verdict}\n`;
}
