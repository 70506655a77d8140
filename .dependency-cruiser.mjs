/**
 * The layers of lib/: a folder imports only from those below it, and nothing imports in
 * a circle. Checked by `npm test`. Top down, in the order of CONTRIBUTING's table;
 * folders on one line do not import each other.
 */
export const LAYERS = [
  ['cli.ts'],
  ['commands'],
  ['index.ts', 'pages'],
  ['experiments'],
  ['report', 'interop'],
  ['notebook'],
  ['training', 'evaluation'],
  ['rewards'],
  ['rollout'],
  ['policy', 'retrieval'],
  ['data'],
  ['text', 'tensor'],
  ['io', 'interrupt.ts', 'memoise.ts', 'own-value.ts', 'random.ts', 'registry.ts'],
];

const pattern = (rooms) =>
  `^lib/(${rooms.map((room) => (room.endsWith('.ts') ? room : `${room}/`)).join('|')})`;

/**
 * Modules that also run in a browser: neither they nor what they import may need Node.
 */
const BROWSER =
  '^lib/(text|rewards|rollout|pages/browser|pages/[^/]+/browser)/|^lib/report/(markup|segments|charts/(lines|narrow))[.]ts|^lib/policy/(local-policy|folders/peft|model/[^/]+)[.]ts|^lib/tensor/safetensors[.]ts|^lib/retrieval/bm25[.]ts';

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    ...LAYERS.flatMap((rooms, i) => {
      const above = LAYERS.slice(0, i).flat();
      const upwards = {
        name: `not-above-${rooms.join('-')}`,
        severity: 'error',
        from: { path: pattern(rooms) },
      };
      const beside =
        rooms.length < 2
          ? []
          : rooms.map((room) => ({
              name: `${room}-by-itself`,
              severity: 'error',
              from: { path: pattern([room]) },
              to: { path: pattern(rooms.filter((other) => other !== room)) },
            }));
      return [
        ...(above.length > 0 ? [{ ...upwards, to: { path: pattern(above) } }] : []),
        ...beside,
      ];
    }),
    {
      name: 'lib-without-tools',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '^tools/' },
    },
    {
      name: 'browser-needs-no-node',
      severity: 'error',
      from: { path: BROWSER },
      to: { dependencyTypes: ['core'] },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
};
