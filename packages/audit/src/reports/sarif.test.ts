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

describe('sarif', () => {
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
