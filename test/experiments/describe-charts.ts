/** What holds of every chart that is drawn of results; that it names its axes and their units, `chartOf` sees to. */
import { describe, expect, it } from 'vitest';
import { SMALL_WORLD, type Chart } from '../../lib/report/chart.js';
import { renderSvg } from '../../lib/report/render.js';

/** @param ofSmallWorld whether the charts are of results of the embedded scale, and have to say so */
export function describeCharts(charts: readonly Chart[], { ofSmallWorld = true } = {}): void {
  describe.each(charts.map((chart) => [chart.title, chart] as const))('%s', (_, chart) => {
    it('is drawn without a warning, with its title in the picture', async () => {
      const svg = await renderSvg(chart);
      expect(svg).toMatch(/^<svg/);
      expect(svg).toContain(chart.title);
      expect(svg.includes(SMALL_WORLD)).toBe(ofSmallWorld);
    });

    it('has a text alternative with figures', () => {
      expect(chart.alt).toMatch(/\d/);
      expect(chart.alt).not.toMatch(/NaN|undefined|–/);
      expect(chart.spec.description).toBe(chart.alt);
    });
  });
}
