import { readFileSync } from 'node:fs';
import { audit } from '@waybill/audit';
import { describe, expect, test } from 'vitest';
import { worldsOf } from './matrix/faults.js';
import type { Fault } from './matrix/faults.js';
import { inputsOf } from './matrix/world.js';

const { faults } = JSON.parse(
  readFileSync(new URL('../cases/fault-matrix.json', import.meta.url), 'utf8'),
) as { readonly faults: readonly Fault[] };

/** They need a ledger to be checked against; entries that do not are tested. */
const LEDGER = new Set([
  'E7.receipt_deleted/0',
  'E8.receipt_tail_truncated/0',
  'E9.receipt_tail_equivocation/0',
]);

const entries = faults.flatMap((fault) =>
  (fault.expect ?? []).map((expectation, index) => ({
    name: `${fault.id}/${index}`,
    title: `${fault.id}${expectation.when === undefined ? '' : `, ${expectation.when}`}`,
    fault,
    index,
    expectation,
  })),
);

describe('every fault of the matrix is judged as it says', () => {
  test.each(entries.filter((entry) => !LEDGER.has(entry.name)))(
    '$title',
    async ({ fault, index, expectation }) => {
      const worlds = await worldsOf(fault, index);
      expect(worlds.length).toBeGreaterThan(0);
      for (const world of worlds) {
        const { inputs, options } = inputsOf(world);
        const report = await audit(inputs, options);
        const found = report.findings.map((finding) => finding.rule);
        const judged = report.operations.map(({ verdict, action, flags }) => ({
          verdict,
          action,
          flags: [...flags].sort(),
        }));
        expect(judged.length).toBeGreaterThan(0);
        expect({
          judged: judged[0],
          missing: expectation.findings.filter((rule) => !found.includes(rule)),
          loud: report.findings
            .filter((finding) => finding.level !== 'info' && !expectation.findings.includes(finding.rule))
            .map((finding) => `${finding.rule}: ${finding.message}`),
        }).toEqual({
          judged: {
            verdict: expectation.verdict,
            action: expectation.action,
            flags: [...expectation.flags].sort(),
          },
          missing: [],
          loud: [],
        });
      }
    },
  );
});
