/** The slider through the rollouts of a run's steps. */
import { byId, unpackElement } from '../../html/browser/dom.js';

/** As `steppedRolloutsHtml` writes it. */
interface Carried {
  name: string;
  steps: number[];
  /** Prefix of a request for a step. */
  source?: string;
  html: Record<number, string | undefined>;
}

/** The rollouts of a step: carried by the page, or asked for. */
const stepHtml = async ({ source, html }: Carried, step: number): Promise<string> =>
  html[step] ?? (await fetch(`${source}step=${step}`)).text();

/** Fills the slider from the page's data and shows the selected step. */
export function startRollouts(): void {
  const slider = byId<HTMLInputElement>('rollouts-step');
  const shown = byId('rollouts-shown');
  const names = byId<HTMLSelectElement>('rollouts-run');
  if (!slider || !shown || !names) return;
  const output = slider.parentElement!.querySelector('output')!;
  const loading = unpackElement('rollouts-carried').json() as Promise<Carried[]>;
  let asked = '';
  const show = async (): Promise<void> => {
    const carried = await loading;
    const run = carried.find(({ name }) => name === names.value) ?? carried[0];
    slider.max = String(run.steps.length - 1);
    const step = run.steps[Number(slider.value)];
    output.textContent = String(step);
    const wanted = (asked = `${run.name} ${step}`);
    const html = await stepHtml(run, step);
    if (wanted === asked) shown.innerHTML = html; // the slider may stand elsewhere by now
  };
  slider.oninput = () => void show();
  names.onchange = () => {
    slider.max = slider.value = '1000000000'; // the newest step, whatever it is
    void show();
  };
  if (slider.value !== slider.max || names.selectedIndex > 0) void show();
}
