import { readEvaluation, type Results } from '../evaluation/load.js';
import { summariseResults, type SummaryOptions } from '../evaluation/table.js';
import { paperFigure } from './paper.js';

/**
 * Loads a folder that an evaluation wrote and computes the tidy table with its intervals (seconds) beside the paper's figures. Training curves may
 * be absent. Errors name the file and the line.
 */
export function loadResults(folder: string, options: Omit<SummaryOptions, 'provenance'> = {}): Results {
  const { questions, curves, provenance } = readEvaluation(folder);
  return {
    questions,
    curves,
    tidy: summariseResults(questions, { paper: paperFigure, ...options, provenance }),
  };
}
