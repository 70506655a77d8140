/** Where a page's numbers come from. */
import { markup, markupHtml } from './markup.js';

/** The heading, for a table of contents. */
export const PROVENANCE = {
  level: 2,
  text: 'Where the numbers come from',
  id: 'provenance',
} as const;

const PROVENANCE_TITLES: Record<string, string> = {
  seed: 'Seed',
  seeds: 'Seeds',
  commit: 'Commit',
  configHash: 'Hash of the configuration',
  backend: 'Backend',
  hardware: 'Hardware',
  node: 'Node',
  durationSeconds: 'Duration (seconds)',
  repeats: 'Repeats',
  warmUps: 'Warm-ups',
  questions: 'Questions',
  testDrawnFrom: 'Test questions drawn by the hash of commit',
  load: 'Load of the machine',
  figures: 'Figures',
  costs: 'Costs of a request (ms)',
  generation: 'A call of the model',
  recorded: 'Recorded earlier, not computed now',
  timing: 'Seconds a question',
  computedHere: 'Computed on this machine',
  takenFromRecords: 'Taken from records',
};

/** What stands elsewhere on the page. */
const SAID = ['finding', 'summary', 'predictions'];

/**
 * Everything that the evaluation says about itself, as a list of names and values, folded
 * unless `isOpen`, after `intro`.
 */
export function provenanceHtml(
  provenance: Readonly<Record<string, unknown>>,
  { intro = '', isOpen = false } = {},
): string {
  const items = Object.entries(provenance).filter(([name]) => !SAID.includes(name));
  const list = items.map(([name, value]) => [
    markup('dt', PROVENANCE_TITLES[name] ?? name),
    markup('dd', valueText(value)),
  ]);
  const { id, text } = PROVENANCE;
  return markupHtml(
    markup(
      'section',
      { id },
      markup('h2', text),
      intro !== '' && markup('p', intro),
      markup(
        'details',
        { open: isOpen },
        markup('summary', 'Seeds, commit, machine'),
        markup('dl.provenance', list),
      ),
    ),
  );
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .map(([name, inner]) => `${name}: ${valueText(inner)}`)
      .join('; ');
  }
  return JSON.stringify(value) ?? '–';
}
