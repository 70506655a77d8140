/** When parallel search answers more: conditions, predicted before a fresh test. */
import type { PolicyRun } from '../training/checkpoints.js';
import {
  answerWithinBudgets,
  listBudgetJobs,
  readBudgetQuestions,
  type BudgetRecord,
} from './budget.js';
import { computation, type Experiment } from './experiment.js';

export const conditions: Experiment = {
  name: 'conditions',
  title: 'when parallel search answers more: limits of turns, tokens and seconds',
  computation: computation<PolicyRun, BudgetRecord>({
    jobs: listBudgetJobs,
    work: async (run, context) => {
      const questions = await readBudgetQuestions(context.world);
      return { answers: await answerWithinBudgets(run, { ...context, questions }) };
    },
  }),
};
