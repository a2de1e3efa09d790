/**
 * SARIF 2.1.0: a result per finding, its fingerprint that of the report, so that a viewer knows it again in the next
 * run. A place is a physical location when it has a line or an offset, and the operation is the logical one. SARIF has
 * three levels below "none"; `info` is its `note`.
 */
import type { Log, PhysicalLocation, ReportingDescriptor, Result, Run } from 'sarif';
import type { AuditReport, Finding, SuppressedFinding } from '../report.js';
import type { EvidenceRef } from '../rule.js';
import { builtinRules } from '../rules/index.js';
import { jsonText, printable } from './text.js';

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
const levels = { error: 'error', warning: 'warning', info: 'note' } as const;

/** A relative URI reference for a path; `-` is standard input and no file. */
function uriOf(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function descriptor(id: string): ReportingDescriptor {
  const meta = builtinRules.find((rule) => rule.meta.id === id)?.meta;
  if (meta === undefined) return { id };
  const { defaultLevel } = meta;
  return {
    id,
    shortDescription: { text: meta.description },
    ...(meta.url === undefined ? {} : { help: { text: `See ${meta.url}.` } }),
    ...(defaultLevel === 'off' ? {} : { defaultConfiguration: { level: levels[defaultLevel] } }),
  };
}

type PlaceOf = (at: EvidenceRef) => PhysicalLocation;

/** Physical locations refer to the artifact of their input, by its position in the run. */
function placesIn(report: AuditReport): PlaceOf {
  const index = new Map(report.inputs.map((input, position) => [input.id, { position, path: input.path }]));
  return (at) => {
    const input = index.get(at.source);
    return {
      artifactLocation: {
        uri: uriOf(input?.path ?? at.source),
        ...(input === undefined ? {} : { index: input.position }),
      },
      ...(at.line !== undefined
        ? { region: { startLine: at.line } }
        : at.offset !== undefined
          ? { region: { byteOffset: at.offset } }
          : {}),
    };
  };
}

function resultOf(finding: Finding, ruleIndex: number, placeOf: PlaceOf): Result {
  const locations = finding.at.map((at) => {
    const names = [
      ...(finding.operation === null ? [] : [{ name: printable(finding.operation), kind: 'operation' }]),
      ...(at.spanId === undefined
        ? []
        : [{ fullyQualifiedName: `${at.traceId ?? ''}/${at.spanId}`, kind: 'span' }]),
    ];
    return {
      physicalLocation: placeOf(at),
      ...(names.length === 0 ? {} : { logicalLocations: names }),
    };
  });
  const [first, ...others] = locations;
  return {
    ruleId: finding.rule,
    ruleIndex,
    level: levels[finding.level],
    message: { text: printable(finding.message) },
    ...(first === undefined ? {} : { locations: [first] }),
    ...(others.length === 0 ? {} : { relatedLocations: others }),
    partialFingerprints: { 'waybill/v1': finding.fingerprint },
    properties: {
      certainty: finding.certainty,
      ...(finding.operation === null ? {} : { operation: finding.operation }),
      ...(finding.callId === null ? {} : { callId: finding.callId }),
      ...(finding.tool === null ? {} : { tool: finding.tool }),
    },
  };
}

function suppressedResult(finding: SuppressedFinding, ruleIndex: number, placeOf: PlaceOf): Result {
  const { reason, until } = finding.suppression;
  return {
    ...resultOf(finding, ruleIndex, placeOf),
    suppressions: [{ kind: 'external', status: 'accepted', justification: `${reason} (until ${until})` }],
  };
}

/** The log as data, for whoever adds to it. */
export function sarifLog(report: AuditReport): Log {
  const ids = [...new Set([...report.findings, ...report.suppressed].map((finding) => finding.rule))].sort();
  const position = new Map(ids.map((id, index) => [id, index]));
  const placeOf = placesIn(report);
  const indexOf = (finding: Finding): number => position.get(finding.rule) ?? -1;
  const run: Run = {
    tool: {
      driver: { name: report.tool.name, version: report.tool.version, rules: ids.map(descriptor) },
    },
    artifacts: report.inputs.map((input) => ({
      location: { uri: uriOf(input.path) },
      ...(input.bytes > 0 ? { length: input.bytes } : {}),
      description: { text: input.format },
    })),
    invocations: [{ executionSuccessful: true }],
    results: [
      ...report.findings.map((finding) => resultOf(finding, indexOf(finding), placeOf)),
      ...report.suppressed.map((finding) => suppressedResult(finding, indexOf(finding), placeOf)),
    ],
    columnKind: 'utf16CodeUnits',
  };
  return { $schema: SCHEMA, version: '2.1.0', runs: [run] };
}

export function* renderSarif(report: AuditReport): Generator<string> {
  yield `${jsonText(sarifLog(report), 1)}\n`;
}
