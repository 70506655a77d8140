/**
 * The audit: a correct file of each format, and for each check a file that fails it, in
 * row 2 and a known turn.
 */
import { describe, expect, it } from 'vitest';
import {
  auditRow,
  AUDIT_CHECKS,
  type AuditCheck,
  type AuditModel,
} from '../../lib/interop/audit.js';
import { readTokenRows } from '../../lib/interop/token-rows.js';
import { formatTrajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { conversationTemplate } from '../../lib/text/tokenizer/chat-template.js';
import {
  encode,
  fill,
  GENERATIONS,
  LAYOUTS,
  model,
  RESULTS,
  rollOutTiny,
  stepsRow,
  tokens,
  type Tokens,
  traceRow,
  trlRow,
  verlRow,
} from './audited-rows.js';

/** As recorded by this library. */
const ownRow = ({ prompt, parts }: Tokens) => ({
  segments: [prompt, ...parts].map((tokenIds, i) => ({
    kind: i === 0 ? 'prompt' : i % 2 === 1 ? 'policy' : 'information',
    text: model.tokenizer.decode(tokenIds),
    tokenIds,
    ...(i % 2 === 1 && { logProbs: fill(tokenIds.length, -0.5) }),
  })),
});

const audit = (row: unknown, auditModel: AuditModel | undefined = model) =>
  readTokenRows(JSON.parse(JSON.stringify(row))).map((one) => auditRow(one, auditModel))[0];

/** A row fails one check at a turn, and no other. */
const expectOnly = (
  check: AuditCheck,
  turn: number,
  row: unknown,
  auditModel?: AuditModel,
): void => {
  const faults = Object.values(audit(row, auditModel)).filter((outcome) => outcome);
  expect(faults).toMatchObject([{ check, turn }]);
};
/** A row fails a check at a turn, and maybe others. */
const expectFault = (check: AuditCheck, turn: number, row: unknown): void =>
  expect(audit(row)[check]).toMatchObject({ check, turn });
/** A row broken by a change. */
const broken = <T>(row: T, change: (row: T) => unknown): T => {
  change(row);
  return row;
};

describe('a correct row', () => {
  it.each(Object.entries(LAYOUTS))('of %s passes every check', async (_, layout) => {
    const outcomes = audit(layout(await tokens()));
    for (const check of AUDIT_CHECKS) expect(outcomes[check], check).toBeNull();
  });

  it('of this library passes every applicable check', async () => {
    await useBackend('wasm');
    const { trajectories, tokenizer } = await rollOutTiny();
    expect(trajectories.some(({ searchTurns }) => searchTurns.length > 0)).toBe(true);
    for (const trajectory of trajectories) {
      const outcomes = audit(JSON.parse(formatTrajectory(trajectory)), {
        tokenizer,
        template: null,
      });
      for (const check of AUDIT_CHECKS)
        expect(outcomes[check], check).toBe(check === 'separators' ? undefined : null);
    }
  });

  it('passes if answers are cut before the end of the turn, and with a trained end of turn', async () => {
    const [first, ...rest] = RESULTS;
    const cut = await tokens([`<|im_end|>${first}`, ...rest]);
    cut.parts[0].pop();
    expect(audit(trlRow(cut)).separators).toBeNull();
  });
});

describe('an error in turn 2 of 3 is found', () => {
  type Row = Record<string, number[]>;
  /** Rows of a prompt and a response, by the names of their fields. */
  const flat = {
    trl: [trlRow, 'completion_ids', 'env_mask', 'logprobs', 'importance_sampling_ratio', 0],
    verl: [verlRow, 'responses', 'response_mask', 'rollout_log_probs', 'rollout_is_weights', 3],
  } as const;
  /** The range of a part in a response: its second generation is part 2, its result 3. */
  const rangeOf = ({ parts }: Tokens, part: number): [number, number] => {
    const start = parts.slice(0, part).flat().length;
    return [start, start + parts[part].length];
  };

  it.each(Object.entries(flat))(
    'in a row of %s',
    async (_, [layout, ids, mask, logProbs, weights, padding]) => {
      const all = await tokens();
      const [start, end] = rangeOf(all, 2);
      const [from, to] = rangeOf(all, 3);
      const breaks = (check: AuditCheck, change: (row: Row) => unknown): void =>
        expectFault(check, 2, broken<Row>(structuredClone(layout(all)), change));
      breaks('mask_length', (row) => row[mask].splice(start + 1, 0, 1));
      breaks('mask_length', (row) => row[mask].splice(end - 1, 1));
      breaks('token_ids', (row) => (row[ids][start] = 1e6));
      breaks('log_probs', (row) => (row[logProbs][start] = null as never));
      breaks('log_probs', (row) => {
        row[weights] = [...fill(row[ids].length - padding, 1), ...fill(padding, 0)];
        row[weights][start] = 'Infinity' as never;
      });
      breaks('information', (row) => {
        row[mask].fill(1, from, to);
        row[logProbs].fill(-1, from, to);
      });
    },
  );

  it('in the steps of verifiers', async () => {
    const all = await tokens();
    type Steps = ReturnType<typeof stepsRow>['trajectory'];
    const breaks = (check: AuditCheck, change: (steps: Steps) => unknown): void =>
      expectFault(
        check,
        2,
        broken(structuredClone(stepsRow(all)), (row) => change(row.trajectory)),
      );
    breaks('mask_length', (steps) => steps[1].tokens.completion_mask.push(1));
    breaks('mask_length', (steps) => steps[1].tokens.completion_mask.pop());
    breaks('token_ids', (steps) => (steps[1].tokens.completion_ids[0] = 1e6));
    breaks('log_probs', (steps) => (steps[1].tokens.completion_logprobs[0] = NaN));
    breaks('information', (steps) => steps[2].tokens.prompt_mask.fill(1, -5));
  });

  it('in a trace of verifiers', async () => {
    const all = await tokens();
    type Nodes = ReturnType<typeof traceRow>['traces'][0]['nodes'];
    const breaks = (check: AuditCheck, change: (nodes: Nodes) => unknown): void =>
      expectFault(
        check,
        2,
        broken(structuredClone(traceRow(all)), (row) => change(row.traces[0].nodes)),
      );
    breaks('mask_length', (nodes) => nodes[3].mask.push(true));
    breaks('mask_length', (nodes) => nodes[3].mask.pop());
    breaks('token_ids', (nodes) => (nodes[3].token_ids[1] = 1e6));
    breaks('log_probs', (nodes) => (nodes[3].logprobs[0] = NaN));
    breaks('information', (nodes) => nodes[4].mask.fill(true));
  });

  it('in a trajectory of this library', async () => {
    const all = await tokens();
    type Segments = ReturnType<typeof ownRow>['segments'];
    const breaks = (check: AuditCheck, change: (segments: Segments) => unknown): void =>
      expectOnly(
        check,
        2,
        broken(structuredClone(ownRow(all)), (row) => change(row.segments)),
      );
    expect(audit(ownRow(all)).log_probs).toBeNull();
    breaks('token_ids', (segments) => (segments[3].tokenIds[0] = 1e6));
    breaks('log_probs', (segments) => segments[3].logProbs!.pop());
    breaks('log_probs', (segments) => (segments[3].logProbs![0] = Infinity));
    breaks('information', ({ 4: found }) =>
      Object.assign(found, { logProbs: fill(found.tokenIds.length, -1) }),
    );
  });
});

describe("the mask of TRL's batches", () => {
  it('is completion_mask * tool_mask, as in its loss: the padding is not trained', () => {
    const batch = { prompt_ids: [1], completion_ids: [2, 3, 4, 0], completion_mask: [1, 1, 1, 0] };
    const maskOf = (row: object): number[] => readTokenRows(row)[0].sequences[0][1].mask;
    expect(maskOf({ ...batch, tool_mask: [1, 0, 1, 1] })).toEqual([1, 0, 1, 0]);
    expect(maskOf(batch)).toEqual([1, 1, 1, 0]);
  });
});

describe('prefix', () => {
  it("finds the turn whose context lacks the previous turn's thoughts", async () => {
    const all = await tokens();
    const steps = stepsRow(all);
    const stripped = await encode(GENERATIONS[1].replace(/<think>.*<\/think>/, ''));
    const context = [...all.prompt, ...all.parts.slice(0, 2).flat(), ...stripped, ...all.parts[3]];
    steps.trajectory[2].tokens.prompt_ids = context;
    steps.trajectory[2].tokens.prompt_mask = fill(context.length, 0);
    expectFault('prefix', 3, steps);
  });

  it('finds a fork in a verifiers trace', async () => {
    const trace = traceRow(await tokens()).traces[0];
    const nodes = [
      ...trace.nodes,
      { ...trace.nodes[5], parent: 2, token_ids: [5, 6], mask: [false, true], logprobs: [-1] },
    ];
    expectFault('prefix', 2, { traces: [{ nodes }] });
    // A subagent, on purpose.
    const call = { semantic_parents: [{ node: 2, type: 'subagent_call' }] };
    const linked = nodes.with(-1, { ...nodes.at(-1)!, ...call });
    expect(audit({ traces: [{ nodes: linked }] }).prefix).toBeNull();
  });

  const messages = [
    { role: 'user', content: 'Who?' },
    { role: 'assistant', content: '<think> a </think><tool_call>Ada</tool_call>' },
    { role: 'user', content: 'born 1922' },
    { role: 'assistant', content: '<think> b </think>Ada' },
  ];
  const STRIPPING =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content if m.role == 'user' or loop.last else m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

  it('finds a template that strips thinking in messages without ids', () => {
    const stripping = { ...model, template: conversationTemplate({ chat_template: STRIPPING }) };
    const nodes = messages.map((message, i) => ({
      parent: i > 0 ? i - 1 : null,
      message,
      sampled: message.role === 'assistant',
    }));
    expect(audit({ messages }, stripping).prefix?.message).toContain('<think>');
    const split = { prompt: messages.slice(0, 1), completion: messages.slice(1) };
    for (const row of [{ messages }, split, { traces: [{ nodes }] }])
      expectOnly('prefix', 2, row, stripping);
    for (const row of [{ messages }, { traces: [{ nodes }] }]) {
      const outcomes = audit(row);
      expect(outcomes.prefix).toBeNull();
      expect(outcomes.mask_length).toBeUndefined();
    }
  });

  it('finds a template that never renders thinking, and accepts one that ends a conversation', () => {
    const withTemplate = (chat_template: string): AuditModel => ({
      ...model,
      template: conversationTemplate({ chat_template, eos_token: '<end>' }),
    });
    const never = STRIPPING.replace("m.role == 'user' or loop.last", "m.role == 'user'");
    expectOnly('prefix', 2, { messages }, withTemplate(never));
    const ending =
      '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% else %}{{ eos_token }}{% endif %}';
    expect(audit({ messages }, withTemplate(ending)).prefix).toBeNull();
    const refusing = "{{ raise_exception('no') }}";
    expect(audit({ messages }, withTemplate(refusing)).prefix).toBeUndefined();
  });
});

describe('separators', () => {
  it.each(Object.entries(LAYOUTS))(
    'finds a line break lost after the end of turn 2: %s',
    async (_, layout) => {
      expectOnly('separators', 2, layout(await tokens([RESULTS[0], RESULTS[1].slice(1)])));
    },
  );

  it('finds a missing start of the next answer, and missing separators', async () => {
    const noStart = await tokens([RESULTS[0].replace('<|im_start|>assistant\n', ''), RESULTS[1]]);
    expectOnly('separators', 1, trlRow(noStart));
    const none = await tokens([RESULTS[0], '<tool_response>1904</tool_response>']);
    expectOnly('separators', 2, trlRow(none));
  });

  it('is skipped for searches in tags, or without a template', async () => {
    const raw = await tokens(RESULTS.map(() => '\n\n<information>1904</information>\n\n'));
    expect(audit(trlRow(raw)).separators).toBeUndefined();
    const row = trlRow(await tokens());
    expect(audit(row, { ...model, template: null }).separators).toBeUndefined();
    expect(auditRow(readTokenRows(row)[0]).separators).toBeUndefined();
  });
});

describe('information', () => {
  it('finds a trained result, with its turn if a model is given', async () => {
    const all = await tokens();
    const row = trlRow(all);
    const start = all.parts.slice(0, 3).flat().length;
    const mask = row.env_mask.map((value, i) =>
      i >= start && i < start + all.parts[3].length ? 1 : value,
    );
    const logprobs = row.logprobs.map((value) => value || -1);
    expectOnly('information', 2, { ...row, env_mask: mask, logprobs });
    const segments = GENERATIONS.flatMap((text, i) => [
      ['policy', text],
      ...RESULTS.slice(i, i + 1).map((found) => ['information', found]),
    ]);
    const named = { ...row, env_mask: mask, logprobs, segments };
    expect(auditRow(readTokenRows(named)[0]).information).toMatchObject({ turn: null });
    expect(auditRow(readTokenRows({ ...row, segments })[0]).information).toBeNull();
  });

  it('finds a trained result in tags, but ignores one invented by the policy', async () => {
    const raw = await tokens(RESULTS.map(() => '\n\n<information>1904</information>\n\n'));
    raw.parts[0] = await encode('<search> a </search>');
    const row = trlRow(raw);
    expect(audit(row).information).toBeNull();
    expectFault('information', 1, { ...row, env_mask: fill(row.env_mask.length, 1) });
    raw.parts[0] = await encode(
      '<think> <information>made up</information> </think><search> a </search>',
    );
    expect(audit(trlRow(raw)).information).toBeNull();
  });

  it('finds trained tokens in a prompt and in a tool message', async () => {
    const trace = traceRow(await tokens());
    trace.traces[0].nodes[2].mask.fill(true);
    expectFault('information', 1, trace);
    const steps = stepsRow(await tokens());
    steps.trajectory[0].tokens.prompt_mask.fill(1);
    expectFault('information', 1, steps);
  });

  it('finds log-probs of information in a trajectory', () => {
    const segments = [
      { kind: 'policy', text: 'a', tokenIds: [5], logProbs: [-1] },
      { kind: 'information', text: 'b', tokenIds: [6], logProbs: [-1] },
    ];
    expect(auditRow(readTokenRows({ segments })[0]).information).toMatchObject({ turn: 1 });
  });
});

describe('log_probs', () => {
  it('finds -9999, which vLLM writes for minus infinity', () => {
    const row = { prompt_ids: [1], completion_ids: [2, 3], logprobs: [-9999, -1] };
    expect(auditRow(readTokenRows(row)[0]).log_probs).toMatchObject({ turn: 1 });
    const unlikely = { ...row, logprobs: [-80, -1] };
    expect(auditRow(readTokenRows(unlikely)[0]).log_probs).toBeNull();
  });

  it.each([
    ['NaN', 'NaN'],
    ['none', null],
    ['above 0', 0.5],
    ['infinite', '-Infinity'],
  ])('finds a log-prob that is %s, in turn 2', async (_, value) => {
    const all = await tokens();
    const row = trlRow(all);
    const at = all.parts.slice(0, 2).flat().length + 1;
    expectOnly('log_probs', 2, { ...row, logprobs: (row.logprobs as unknown[]).with(at, value) });
    const trace = traceRow(all);
    (trace.traces[0].nodes[3].logprobs as unknown[])[0] = value;
    expectOnly('log_probs', 2, trace);
  });

  it('finds missing log-probs, and non-finite weights', async () => {
    const row = verlRow(await tokens());
    expectOnly('log_probs', 1, { ...row, rollout_is_weights: row.responses.map(() => 'Infinity') });
    for (const rollout_is_weights of [row.responses.map(() => 1), [1], 1])
      expect(audit({ ...row, rollout_is_weights }).log_probs).toBeNull();
    const trl = trlRow(await tokens());
    expectOnly('log_probs', 3, { ...trl, logprobs: trl.logprobs.slice(1) });
    expect(audit({ ...trl, logprobs: null, advantages: 0.5 }).log_probs).toBeNull();
    expectFault('log_probs', 1, { ...trl, logprobs: null, advantages: [NaN] });
    const trace = traceRow(await tokens());
    trace.traces[0].nodes[3].logprobs = [];
    expectOnly('log_probs', 2, trace);
  });
});

describe('token_ids', () => {
  it('finds ids outside the vocabulary, and ids that do not match the text', async () => {
    const row = trlRow(await tokens());
    const outside = [...row.completion_ids.slice(1), 1e6];
    expectFault('token_ids', 3, { ...row, completion_ids: outside });
    const segment = { kind: 'policy', text: 'Who was', tokenIds: await encode('Who was') };
    expect(audit({ segments: [segment] }).token_ids).toBeNull();
    expectOnly('token_ids', 1, { segments: [{ ...segment, text: 'Who is' }] });
  });
});

describe('a row that cannot be audited', () => {
  it.each([
    [{ input: 'a', output: 'b', gts: {}, score: 1 }, 'texts'],
    [{ prompt: 'a', completion: 'b' }, 'texts'],
    [{ segments: [{ kind: 'policy', text: 'a' }] }, 'texts'],
    [{ prompt_ids: [1], completion_ids: 'no' }, 'JSON'],
    [{ prompts: [1], responses: [2] }, 'response_mask'],
    [{ prompt_ids: [1], completion_ids: [2], env_mask: [2] }, 'a mask of 0 and 1'],
    [{ prompt_ids: [1], completion_ids: [null] }, 'at completion_ids'],
    [7, 'object'],
  ])('%o is rejected: %s', (row, reason) => {
    expect(() => readTokenRows(row)).toThrow(reason);
  });
});
