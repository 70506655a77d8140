import { KIND_STYLE, SEGMENT_STYLE } from '../../html/styles.js';

/** Styles of a run's page beside those of every page. */
export const RUN_STYLE = `${KIND_STYLE}${SEGMENT_STYLE}
.live { font-size: .9rem; color: var(--soft); }
.alarm { color: var(--bad); font-weight: 600; }
.calm { color: var(--good); }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 1.5rem; }
.curves figure { min-width: 0; }
.gold { color: var(--soft); margin: 0 0 .4rem; }
details.rollout { margin: .3rem 0; }
details.rollout > summary { font-size: .9rem; width: auto; }
`;
