/** Styles that pages share. */

export const PAGE_STYLE = `
:root { --fg: #1b1f24; --soft: #57606a; --bg: #ffffff; --panel: #f5f6f8; --line: #d5d9df; --shade: #0003; --accent: #0b5cad; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) {
  :root { --fg: #e6e9ee; --soft: #a3adba; --bg: #14171b; --panel: #1d2127; --line: #3a414b; --shade: #fff3; --accent: #7ab8ff; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 16px/1.6 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; background: var(--bg); padding: .5rem; }
.site { display: flex; flex-wrap: wrap; gap: .1rem 1.4rem; padding: .45rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--panel); font-size: .9rem; }
.site a { text-decoration: none; }
.site a:hover { text-decoration: underline; }
.site :is([aria-current], .current) { color: var(--fg); font-weight: 600; }
.site details { position: relative; }
.site summary { color: var(--accent); font-size: inherit; }
.site ul { position: absolute; z-index: 8; left: -.8rem; width: max-content; max-width: min(32rem, 78vw); margin: .4rem 0 0; padding: .5rem .9rem; list-style: none; background: var(--bg); border: 1px solid var(--line); border-radius: 6px; }
.site li { margin: .25rem 0; }
.layout { display: grid; grid-template-columns: minmax(0, 1fr); max-width: 86rem; margin: 0 auto; padding: 0 1.25rem 4rem; gap: 0 2.5rem; }
@media (min-width: 68rem) {
  .layout:has(nav.toc) { grid-template-columns: 14rem minmax(0, 1fr); }
  nav.toc { position: sticky; top: 0; max-height: 100vh; overflow: auto; padding-top: 2rem; align-self: start; }
}
nav.toc { font-size: .9rem; padding-top: 1.5rem; }
nav.toc summary { letter-spacing: .04em; }
nav.toc ul { list-style: none; margin: .5rem 0 0; padding: 0; }
nav.toc li { margin: .25rem 0; line-height: 1.35; }
nav.toc li.level-3 { padding-left: 1rem; }
nav.toc a { text-decoration: none; }
nav.toc a:hover { text-decoration: underline; }
main > p, main > ul, main > ol, main > blockquote, .text { max-width: 46rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 1.6rem 0 .9rem; text-wrap: balance; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.2rem 0 .6rem; padding-top: .7rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.5rem 0 .4rem; }
.opening { max-width: 46rem; margin-bottom: 1.2rem; }
.opening p, .opening ul { margin: .5rem 0; }
.opening .headline { font-size: 1.2rem; line-height: 1.5; border-left: 3px solid var(--accent); padding-left: 1rem; margin: 0 0 .9rem; }
.opening ul { padding-left: 1.2rem; font-size: .93rem; }
.opening .asked { color: var(--soft); font-size: .86rem; }
.opening details { margin: .5rem 0; }
.finding { max-width: 46rem; }
code, pre { font: .86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
:not(pre) > code { background: var(--panel); padding: .1em .3em; border-radius: 3px; }
pre { background: var(--panel); padding: .8rem 1rem; border-radius: 6px; margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre.bibtex { user-select: all; }
.cell { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: flex-end; }
.cell > * { flex: 1 1 100%; min-width: 0; }
details.code, details.data { margin: .25rem 0; }
details > summary { cursor: pointer; color: var(--soft); font-size: .85rem; width: fit-content; }
details.section { border-top: 1px solid var(--line); margin-top: 2.2rem; }
details.section > summary { width: auto; padding: .7rem 0; }
details.section > summary h2 { display: inline; border: 0; color: var(--fg); }
details.section + details.section { margin-top: 0; }
pre.stderr { border-left: 3px solid #c0392b; }
.scroll { overflow-x: auto; margin: .6rem 0; container-type: inline-size; background: linear-gradient(90deg, var(--bg) 40%, transparent) 0 0 / 2.5rem 100% no-repeat local, linear-gradient(270deg, var(--bg) 40%, transparent) 100% 0 / 2.5rem 100% no-repeat local, linear-gradient(90deg, var(--shade), transparent) 0 0 / .8rem 100% no-repeat scroll, linear-gradient(270deg, var(--shade), transparent) 100% 0 / .8rem 100% no-repeat scroll; }
.scroll > .finding { margin: .2rem 0; }
table { border-collapse: collapse; font-size: .83rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; position: sticky; left: 0; max-width: 100cqw; text-align: left; color: var(--soft); padding-bottom: .4rem; font-size: .9rem; }
th, td { padding: .28rem .55rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; }
thead th { white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 500; }
:is(th, td).long { white-space: normal; min-width: min(18rem, 60cqw); }
th.long { min-width: min(12rem, 36cqw); }
th[scope=colgroup] { text-align: center; border-bottom: 1px solid var(--line); }
.downloads { margin: .3rem 0; font-size: .82rem; color: var(--soft); }
button { font: inherit; color: var(--accent); background: var(--bg); border: 1px solid var(--line); border-radius: 4px; padding: .1rem .5rem; cursor: pointer; }
.downloads button { border: 0; padding: 0; background: none; text-decoration: underline; }
td.figure, th.figure { text-align: right; }
tbody tr:hover { background: var(--panel); }
.scroll tr > th:first-child { position: sticky; left: 0; background: var(--bg); }
.scroll tbody tr:hover > th:first-child { background: var(--panel); }
figure.chart { flex: 0 1 auto; margin: 1rem 0 .1rem; max-width: 100%; }
figure.chart .drawing { overflow-x: auto; }
figure.chart .drawing > svg { max-width: 100%; height: auto; }
figure.chart .vega-embed { max-width: none; }
figure.chart details { max-width: 46rem; }
figure.chart svg text, .picture svg text { fill: var(--fg); }
:is(figure.chart, .picture) svg .role-axis-grid line { stroke: var(--line); }
:is(figure.chart, .picture) svg :is(.role-axis-domain, .role-axis-tick) line { stroke: var(--soft); }
dl.provenance { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: .2rem 1.2rem; font-size: .9rem; }
dl.provenance dt { color: var(--soft); }
dl.provenance dd { margin: 0; overflow-wrap: anywhere; }
@media print {
  .site, nav.toc, details.code, details.data, .downloads, .skip, button { display: none; }
  details::details-content { content-visibility: visible; }
  .layout { display: block; max-width: none; }
  figure.chart, table { break-inside: avoid; }
}
`;

/** Styles of a trajectory's segments. */
export const SEGMENT_STYLE = `ol.segments { list-style: none; padding: 0; margin: 1rem 0; display: grid; gap: .5rem; }
.segment { --kind: var(--soft); border-left: 4px solid var(--kind); background: color-mix(in srgb, var(--kind) var(--tint), transparent); border-radius: 0 5px 5px 0; padding: .35rem .8rem .5rem; font-size: .92rem; overflow-wrap: anywhere; min-width: 0; }
.segment.think { --kind: var(--think); }
.segment.search { --kind: var(--search); }
.segment.information { --kind: var(--information); }
.segment.answer { --kind: var(--answer); }
.segment.stray, .segment.notice { --kind: var(--bad); border-left-style: dashed; }
.segment .tag { font-size: .72rem; font-weight: 600; letter-spacing: .04em; color: var(--kind); }
.segment .text { white-space: pre-wrap; }
.segment pre { white-space: pre-wrap; }
.segment summary { cursor: pointer; font-size: .8rem; color: var(--soft); width: max-content; }
.segment.answer .text { font-weight: 600; }
ul.queries { display: flex; flex-wrap: wrap; gap: .4rem; list-style: none; padding: 0; margin: .2rem 0 0; }
ul.queries li { border: 1px solid var(--search); background: var(--bg); border-radius: 1rem; padding: .05rem .7rem; }
.results { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: .3rem 1.2rem; }
.result .query { margin: .2rem 0; font-weight: 600; color: var(--search); }
.result .failure { color: var(--bad); }
.passages { margin: 0; padding-left: 1.3rem; font-size: .86rem; }
.passages .text { color: var(--soft); }
.figures { font-variant-numeric: tabular-nums; color: var(--soft); font-size: .9em; }
`;

/** Light and dark colours of segments and verdicts. */
const KIND_COLORS = {
  think: ['#6b4fbb', '#c3b1ff'],
  search: ['#0b6e4f', '#6fd6ae'],
  information: ['#57606a', '#a3adba'],
  answer: ['#0b5cad', '#7ab8ff'],
  bad: ['#b42318', '#ff9d92'],
  good: ['#0b6e4f', '#6fd6ae'],
} as const;

const kindColors = (print: (light: string, dark: string) => string): string =>
  Object.entries(KIND_COLORS)
    .map(([kind, [light, dark]]) => `--${kind}: ${print(light, dark)};`)
    .join(' ');

/** Colours of segments and verdicts in a page, light and dark. */
export const KIND_STYLE = `
:root { ${kindColors((light) => light)} --tint: 7%; }
@media screen and (prefers-color-scheme: dark) {
  :root { ${kindColors((_, dark) => dark)} --tint: 14%; }
}
`;

/** Segments in a front end of notebooks, which says whether it is dark. */
export const TRANSCRIPT_STYLE = `
.ps-transcript {
  ${kindColors((light, dark) => `light-dark(${light}, ${dark})`)} --tint: 9%;
  ${SEGMENT_STYLE}
}
[data-jp-theme-light=false] .ps-transcript, .vscode-dark .ps-transcript { color-scheme: dark; }
`;
