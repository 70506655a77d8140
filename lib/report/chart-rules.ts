/** What every chart must tell its readers: a title, named axes with units, and its content in words. */
import type { Chart, VegaLiteSpec } from './chart.js';

interface Axis {
  channel: string;
  type: unknown;
  title: unknown;
}

/** All positional channels of a specification that show a field, also those of its layers and panels. */
function axesOf(spec: unknown): Axis[] {
  if (typeof spec !== 'object' || spec === null) return [];
  return Object.entries(spec as VegaLiteSpec).flatMap(([key, inner]) => {
    if (key === 'data') return [];
    return key === 'encoding' ? positionsOf(inner as Record<string, VegaLiteSpec>) : axesOf(inner);
  });
}

function positionsOf(encoding: Record<string, VegaLiteSpec>): Axis[] {
  return ['x', 'y']
    .filter((channel) => encoding[channel] && 'field' in encoding[channel])
    .map((channel) => ({ channel, type: encoding[channel].type, title: encoding[channel].title }));
}

/**
 * What a chart fails to tell, as sentences that follow "Expected ...". Layers share an axis, so that one of them must
 * name it; the title of a quantity ends in its unit, in parentheses.
 */
export function chartComplaints({ title, alt, spec }: Omit<Chart, 'kind'>): string[] {
  const complaints: string[] = [];
  if (title.trim() === '') complaints.push('a title');
  if (alt.trim() === '' || alt.trim() === title.trim()) complaints.push('a text alternative that says more');
  const axes = axesOf(spec);
  for (const channel of new Set(axes.map((axis) => axis.channel))) {
    const own = axes.filter((axis) => axis.channel === channel);
    const titles = own.filter(({ title: name }) => typeof name === 'string' && name.trim() !== '');
    if (titles.length === 0) complaints.push(`a title of the ${channel} axis`);
    for (const { type, title: name } of titles)
      if (type === 'quantitative' && !/\(.+\)$/.test(name as string))
        complaints.push(`a unit in parentheses at the end of the ${channel} axis title "${name as string}"`);
  }
  return [...new Set(complaints)];
}
