import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { isBound, statementProblem } from './statement.js';
import type { ReceiptStatement } from './statement.js';

const schema = JSON.parse(
  readFileSync(new URL('../../schemas/receipt-1.json', import.meta.url), 'utf8'),
) as object;
const validate = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false }).compile(schema);

const digest = `hmac-sha256:${'ab'.repeat(32)}`;
const full = {
  v: 'waybill/receipt/1',
  receipt_id: 'r-1',
  effect_id: 'e-1',
  operation_id: 'row-42:done',
  attempt: 1,
  outcome: 'applied',
  stage: 'read_back',
  params_hash: digest,
  target: {
    system: 'todo',
    type: 'row',
    id: 'row-42',
    expected_hash: digest,
    observed_version: 2,
    observed_hash: digest,
    precondition_version: '1',
  },
  source: { service: 'todo', instance: 'i-1', key_id: 'k-1' },
  run_id: 'run-1',
  call_id: 'c-1',
  trace_id: 'ab'.repeat(16),
  span_id: 'cd'.repeat(8),
  effect_at: '1790000000060000000',
  observed_at: '0',
} as const;

type Path = readonly string[];
/** A copy with one member set, or left out for undefined. */
function changed(path: Path, value: unknown): unknown {
  const copy = structuredClone(full) as Record<string, unknown>;
  let at = copy;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

const leaves: readonly Path[] = Object.entries(full).flatMap(([key, value]): Path[] =>
  typeof value === 'object' ? [[key], ...Object.keys(value).map((inner) => [key, inner])] : [[key]],
);
const values: readonly unknown[] = [
  undefined,
  null,
  true,
  '',
  'x',
  'x'.repeat(200),
  'x'.repeat(201),
  0,
  1,
  1.5,
  -1,
  2 ** 53 - 1,
  2 ** 53,
  'applied',
  'failed',
  'refused',
  'committed',
  'read_back',
  'waybill/receipt/1',
  digest,
  digest.toUpperCase(),
  '00',
  '12345678901234567890',
  {},
  [],
];

describe('the published schema', () => {
  it('accepts exactly the bound statements that the code accepts, member by member', () => {
    const different: unknown[] = [];
    for (const path of [...leaves, ['unknown'], ['target', 'unknown'], ['source', 'unknown']]) {
      for (const value of values) {
        const statement = changed(path, value);
        const problem = statementProblem(statement);
        const ours = problem === undefined && isBound(statement as ReceiptStatement);
        if (ours !== validate(statement))
          different.push({ path, value, ours, problem, theirs: validate.errors });
      }
    }
    expect(different).toEqual([]);
  });

  it('refuses what is no object', () => {
    for (const value of [null, [], 'x', 1]) {
      expect(validate(value)).toBe(false);
      expect(statementProblem(value)).toMatch(/object/);
    }
  });
});

describe('statementProblem', () => {
  it.each([
    [['target', 'system'], undefined, 'target.system is missing'],
    [['source', 'key_id'], '', 'source.key_id must be text of 1 to 200 characters'],
    [['params'], {}, 'params is no field of waybill/receipt/1'],
    [['attempt'], 0, 'attempt must be an integer from 1'],
  ])('names the field: %s', (path, value, expected) => {
    expect(statementProblem(changed(path, value))).toBe(expected);
  });

  it('reads an applied receipt without version, and one without target id, as unbound', () => {
    const unbound = [
      changed(['target', 'observed_version'], undefined),
      changed(['target', 'id'], undefined),
    ];
    for (const statement of unbound) {
      expect(statementProblem(statement)).toBeUndefined();
      expect(isBound(statement as ReceiptStatement)).toBe(false);
    }
  });
});
