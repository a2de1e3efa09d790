import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { buildFinding, buildReport, buildReportOperation } from '../testing.js';
import { renderSarif, sarifLog } from './sarif.js';

const report = buildReport(
  [buildReportOperation()],
  [
    buildFinding(),
    buildFinding({ rule: 'acme/own', level: 'info', certainty: 'suspected', at: [] }),
    buildFinding({
      rule: 'input-damaged',
      level: 'error',
      operation: null,
      callId: null,
      tool: null,
      at: [
        { source: 's1', offset: 77 },
        { source: 's1', line: 9 },
      ],
    }),
  ],
  { suppressed: [{ ...buildFinding(), suppression: { reason: 'known', until: '2027-01-31' } }] },
);
const [run] = sarifLog(report).runs;

/** The schema of SARIF 2.1.0 as the matchers of its authors ship it. */
function schemaOfSarif() {
  const path = createRequire(import.meta.url).resolve(
    '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json',
  );
  // It names draft 4, which ajv no longer knows, and uses nothing of it that draft 7 reads differently but `id`.
  const {
    $schema: _draft,
    id: _id,
    ...schema
  } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  // Formats (uri, date-time) are annotations here; structure and closed sets are what is checked.
  return new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema);
}

describe('sarif', () => {
  test('the log is valid by the schema of SARIF 2.1.0, and a log with a wrong level is not', () => {
    const validate = schemaOfSarif();
    const log = JSON.parse([...renderSarif(report)].join('')) as {
      runs: { results: { level: string }[] }[];
    };
    validate(log);
    expect(validate.errors ?? []).toEqual([]);
    const [first] = log.runs[0]?.results ?? [];
    if (first !== undefined) first.level = 'fatal';
    expect(validate(log)).toBe(false);
  });

  test('the rendered text is the log', () => {
    expect(JSON.parse([...renderSarif(report)].join(''))).toEqual(sarifLog(report));
  });

  test('every result points at its rule by id and index', () => {
    const rules = run?.tool.driver.rules ?? [];
    for (const result of run?.results ?? []) expect(rules[result.ruleIndex ?? -1]?.id).toBe(result.ruleId);
  });

  test('levels are those of SARIF', () => {
    expect(run?.results?.map((result) => result.level)).toEqual(['warning', 'note', 'error', 'warning']);
  });

  test('a line or an offset is a region of the artifact of its input', () => {
    expect(run?.results?.[0]?.locations?.[0]?.physicalLocation).toEqual({
      artifactLocation: { uri: 'traces.jsonl', index: 0 },
      region: { startLine: 1 },
    });
    expect(run?.results?.[2]?.locations?.[0]?.physicalLocation?.region).toEqual({ byteOffset: 77 });
    expect(run?.results?.[2]?.relatedLocations).toHaveLength(1);
  });

  test('the operation and the span are logical locations', () => {
    expect(run?.results?.[0]?.locations?.[0]?.logicalLocations).toEqual([
      { name: 'row-42:done:v1', kind: 'operation' },
      { fullyQualifiedName: '0af7651916cd43dd8448eb211c80319c/a000000000000001', kind: 'span' },
    ]);
  });

  test('the fingerprint is that of the report', () => {
    expect(run?.results?.[0]?.partialFingerprints).toEqual({ 'waybill/v1': 'reply-lost:row-42:done:v1:1' });
  });

  test('a suppressed finding says why', () => {
    expect(run?.results?.[3]?.suppressions).toEqual([
      { kind: 'external', status: 'accepted', justification: 'known (until 2027-01-31)' },
    ]);
  });

  test('a path is a URI reference', () => {
    const odd = buildReport([], [buildFinding()], {
      inputs: buildReport().inputs.map((input) => ({ ...input, path: 'a b/c#1.json' })),
    });
    expect(sarifLog(odd).runs[0]?.artifacts?.[0]?.location?.uri).toBe('a%20b/c%231.json');
  });
});
