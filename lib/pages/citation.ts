/** How to cite the paper, and the report with these numbers. */
import { createRequire } from 'node:module';
import { escapeHtml } from '../report/markup.js';
import type { Heading } from './page.js';
import { latexText } from '../report/table-formats.js';

/** The paper, as in CITATION.cff. */
export const PAPER_BIBTEX = `@article{zhao2025parallelsearch,
  title = {{ParallelSearch}: Train your {LLMs} to Decompose Query and Search Sub-queries in Parallel with Reinforcement Learning},
  author = {Zhao, Shu and Yu, Tan and Xu, Anbang and Singh, Japinder and Shukla, Aaditya and Akkiraju, Rama},
  journal = {arXiv preprint arXiv:2508.09303},
  year = {2025},
  month = aug,
  doi = {10.48550/arXiv.2508.09303},
  url = {https://arxiv.org/abs/2508.09303}
}`;

/** The software, with the report's title and the commit that computed its numbers. */
export function reportBibtex(title: string, commit?: string): string {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
  const notes = [`Report: ${latexText(title)}`, ...(commit ? [`commit ${latexText(commit)}`] : [])];
  return `@software{parallelsearch-ts,
  title = {{ParallelSearch.ts}: reinforcement learning for parallel search on {TensorFlow.js}},
  author = {{The ParallelSearch.ts contributors}},
  version = {${version}},
  note = {${notes.join(', ')}}
}`;
}

export const CITATION: Heading = { level: 2, text: 'To cite', id: 'cite' };

/** A folded section with both entries; the copy button needs scripts. */
export function citationHtml(title: string, commit?: string): string {
  const entries = escapeHtml(`${PAPER_BIBTEX}\n\n${reportBibtex(title, commit)}`);
  return [
    `<section id="${CITATION.id}"><h2>${CITATION.text}</h2>`,
    '<p>The paper, and the software that computed these numbers:</p>',
    `<details><summary>BibTeX</summary><pre class="bibtex" id="bibtex">${entries}</pre></details>`,
    '<p><button type="button" data-copy="bibtex" hidden>Copy BibTeX</button> <span role="status"></span></p>',
    '</section>',
  ].join('\n');
}
