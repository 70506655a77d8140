/** The charts of a report; the large charting library runs after the page has loaded. */
import { drawCharts } from './charts.js';

void drawCharts();
