/** Colours, shapes and dashes of the series of a chart. */
import { ownValue } from '../../own-value.js';
import { fieldTitle, valueTitle } from '../titles.js';
import { columnName, escapedTitle, fieldName } from './readable.js';

interface Style {
  color: string;
  /** A shape of Vega, or an SVG path. */
  shape: string;
}

const HEXAGON = 'M-.5,-.87L.5,-.87L1,0L.5,.87L-.5,.87L-1,0Z';

/**
 * Methods look the same in every chart. Colours are distinguishable for colour-blind
 * readers and have a contrast of at least 3 on white and on black; shapes repeat them.
 */
const METHOD_STYLES: Readonly<Record<string, Style>> = {
  lookup: { color: '#6c757d', shape: 'cross' },
  r1: { color: '#8a8a8a', shape: 'square' },
  'r1:trained': { color: '#6f6f7f', shape: 'square' },
  'untrained:search-r1': { color: '#7d90a5', shape: 'circle' },
  'untrained:parallel': { color: '#b08468', shape: 'triangle-down' },
  'untrained:drill': { color: '#8c8c5a', shape: 'triangle-up' },
  demonstrations: { color: '#7a7a7a', shape: 'stroke' },
  sft: { color: '#c94a87', shape: 'wedge' },
  'rejection-sampling': { color: '#a0623d', shape: 'arrow' },
  otc: { color: '#8e5bb5', shape: 'triangle-left' },
  'otc:ppo': { color: '#a679c9', shape: 'triangle-left' },
  stepsearch: { color: '#2a8f5f', shape: 'triangle-right' },
  'stepsearch:grpo': { color: '#5b9a3c', shape: 'triangle-right' },
  'rag-r1': { color: '#b5527a', shape: 'cross' },
  'rag-r1:grpo': { color: '#cc6f95', shape: 'cross' },
  zerosearch: { color: '#846400', shape: HEXAGON },
  'zerosearch:simulator': { color: '#a98a5a', shape: HEXAGON },
  'search-r1': { color: '#2b86c5', shape: 'circle' },
  'search-r1:b4': { color: '#4f9bb8', shape: 'triangle-down' },
  'search-r1:ppo': { color: '#4a78d0', shape: 'circle' },
  'search-r1:format': { color: '#3d8f9c', shape: 'circle' },
  'search-r1-parallel-prompt': { color: '#b98a00', shape: 'triangle-up' },
  parallelsearch: { color: '#d95f02', shape: 'diamond' },
  'parallelsearch:ppo': { color: '#c77f2a', shape: 'diamond' },
  'parallelsearch:released-code': { color: '#b8452a', shape: 'diamond' },
};

/** Styles of other values, used in order. */
export const STYLES: readonly Style[] = [
  { color: '#d95f02', shape: 'diamond' },
  { color: '#2b86c5', shape: 'circle' },
  { color: '#8a8a8a', shape: 'square' },
  { color: '#8e5bb5', shape: 'triangle-up' },
  { color: '#1a936f', shape: 'cross' },
  { color: '#c94a87', shape: 'triangle-down' },
  { color: '#5b8c00', shape: 'triangle-right' },
  { color: '#a0623d', shape: 'triangle-left' },
];

const FIELD_STYLES: Readonly<Record<string, Readonly<Record<string, Style>>>> = {
  method: METHOD_STYLES,
  model: { base: STYLES[3], instruct: STYLES[4], hasty: STYLES[5], paired: STYLES[6] },
};

/** Dashes of lines; the last line of a chart is solid. */
const DASHES = [
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [1, 3],
];

/** Colour, shape, dashes and offset of the values of a field, in one legend. */
export function seriesChannels(field: string, values: readonly string[]) {
  const fixed = values.map((value) => ownValue(ownValue(FIELD_STYLES, field), value));
  const free = STYLES.filter(({ color }) => !fixed.some((style) => style?.color === color));
  const styles = fixed.map((style, i) => style ?? free[i % free.length]);
  const domain = values.map((value) => valueTitle(field, value));
  const name = fieldName(field);
  const channel = { field: name, type: 'nominal', title: fieldTitle(columnName(field)) };
  return {
    color: { ...channel, scale: { domain, range: styles.map(({ color }) => color) } },
    shape: { ...channel, scale: { domain, range: styles.map(({ shape }) => shape) } },
    strokeDash: {
      ...channel,
      scale: {
        domain,
        range: domain.map((_, i) => (i < domain.length - 1 ? DASHES[i % DASHES.length] : [1, 0])),
      },
    },
    xOffset: { field: name, ...escapedTitle(field), sort: domain },
  };
}
