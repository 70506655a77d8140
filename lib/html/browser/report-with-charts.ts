/** The script of a report with charts. */
import { drawCharts } from './charts.js';
import './report.js';

void drawCharts();
