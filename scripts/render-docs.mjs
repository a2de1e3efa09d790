/**
 * Renders docs/semantic-conventions.md, and the decision table in docs/verdicts.md, from the built vocabulary, so that
 * the pages and the code are one source.
 *
 *   node scripts/render-docs.mjs           writes the pages
 *   node scripts/render-docs.mjs --check   exits 1 when a page is not what would be written
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = 'docs/semantic-conventions.md';
const VERDICTS_PAGE = 'docs/verdicts.md';
const file = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const built = (path) =>
  import(new URL(`../${path}`, import.meta.url).href).catch((error) => {
    throw new Error(`${path} cannot be loaded; run \`npm run build\` first`, { cause: error });
  });

const core = await built('packages/core/dist/esm/index.js');

const code = (word) => `\`${word}\``;
const codes = (words) => words.map(code).join(' ');
const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (head, rows) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

function attributes(definitions) {
  return table(
    ['attribute', 'type', 'where', 'meaning'],
    definitions.map(({ key, type, where, brief, values, aliases }) => [
      code(key),
      code(type),
      where,
      [
        brief,
        values === undefined ? '' : `One of ${codes(values)}.`,
        aliases === undefined ? '' : `Also read as ${codes(aliases)}.`,
      ]
        .filter(Boolean)
        .join(' '),
    ]),
  );
}

function stages() {
  return table(
    ['stage', 'event name', 'one of the seven', 'what was observed'],
    core.STAGES.map(({ name, basic, brief }) => [
      code(name),
      code(core.eventNameOf(name)),
      basic ? 'yes' : '',
      brief,
    ]),
  );
}

function requiredStages() {
  return table(
    ['side', 'one of', 'because'],
    core.STAGE_REQUIREMENTS.map(({ side, anyOf, because }) => [side, codes(anyOf), because]),
  );
}

function outcomes() {
  return table(
    ['outcome', 'layer', 'meaning', 'reasons'],
    core.OUTCOMES.map(({ outcome, layer, brief, reasons }) => [
      code(outcome),
      layer,
      brief,
      reasons.length === 0 ? '' : codes(reasons),
    ]),
  );
}

function flags(briefs) {
  return table(
    ['flag', 'meaning'],
    Object.entries(briefs).map(([flag, brief]) => [code(flag), brief]),
  );
}

function verdicts() {
  return table(
    ['verdict', 'proven when it is given'],
    core.VERDICTS.map(({ verdict, proven }) => [code(verdict), proven]),
  );
}

function decisionTable() {
  const inputs = Object.entries(core.EVIDENCE_INPUTS).map(([input, values]) => [code(input), codes(values)]);
  const condition = (when) =>
    Object.entries(when)
      .map(([input, values]) => `${code(input)} ${codes(values)}`)
      .join('; ') || 'otherwise';
  const rows = core.VERDICT_ROWS.map(({ id, title, when, verdict, reason, action }) => [
    code(id),
    title,
    condition(when),
    code(verdict),
    code(reason),
    code(action),
  ]);
  return [
    table(['input', 'values'], inputs),
    table(['row', 'meaning', 'when', 'verdict', 'reason', 'action'], rows),
  ].join('\n\n');
}

function rules() {
  return table(
    ['rule', 'default level'],
    Object.entries(core.RULES).map(([id, level]) => [code(id), level]),
  );
}

function metaKeys() {
  return table(
    ['key', 'in', 'holds'],
    [
      [code(core.META_RUN_ID), code('params._meta'), 'the run id'],
      [code(core.META_CALL_ID), `${code('params._meta')}, ${code('result._meta')}`, 'the call id'],
      [code(core.META_OPERATION_ID), code('params._meta'), 'the operation id'],
      [
        code(core.META_OPERATION_SOURCE),
        code('params._meta'),
        'the source of the operation id, when it is not `caller`; absent or unknown means `caller`',
      ],
      [
        code(core.META_RECEIPT),
        code('result._meta'),
        'the id of the receipt that the call wrote, beside the echo of the call id',
      ],
      [
        codes([core.META_TRACEPARENT, core.META_TRACESTATE, core.META_BAGGAGE]),
        code('params._meta'),
        'trace context, without a prefix (SEP-414)',
      ],
    ],
  );
}

const wanted = `# Semantic conventions of Waybill

This page is rendered from \`packages/core/src/semconv\` and \`packages/core/src/verdict\` by \`npm run docs\`. Change the source, not the page.

## Attributes

Attributes of MCP, HTTP, network and errors are those of the OpenTelemetry conventions. Waybill adds:

${attributes(core.ATTRIBUTES)}

## What the audit backend says

\`waybill serve\` sends log events \`${core.EVENT_VERDICT}\` and \`${core.EVENT_FINDING}\` in the trace and under the span of the operation's first client span, and, when asked for, verdict spans. No span of an application carries these attributes.

${attributes(core.JUDGEMENT_ATTRIBUTES)}

## Keys in \`_meta\`

Keys in \`result._meta\` are there only when the request carried ours. Ids from outside hold at most ${core.MAX_REMOTE_ID_LENGTH} printable characters.

${metaKeys()}

## Stages

A stage is a span event, a log record, or both. Each carries \`${core.ATTR_STAGE_SEQ}\`, dense from 1 per call and side.

${stages()}

### Stages that a side owes

A stage is missing only where the record of that side is complete; a side without any record owes nothing.

${requiredStages()}

## Layer outcome of a call

${outcomes()}

## Flags

Of a call, in \`${core.ATTR_FLAGS}\`:

${flags(core.CALL_FLAG_BRIEFS)}

Of an operation, beside its verdict:

${flags(core.OPERATION_FLAG_BRIEFS)}

## Verdict of an operation

${verdicts()}

Beside it stand an action (${codes(core.ACTIONS)}), the effect (${codes(core.EFFECT_STATES)}), the state of the evidence (${codes(core.EVIDENCE_STATES)}) and the assurance (${codes(core.ASSURANCES)}).

### How it is decided

The first row that fits decides. An input that a row does not name may have any value.

${decisionTable()}

## Rules

${rules()}
`;

/** A page of which only the part between two marks is rendered. */
function withDecisionTable(page) {
  const [begin, end] = [
    '<!-- decision table: rendered by `npm run docs` -->',
    '<!-- end of the decision table -->',
  ];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (after === undefined) throw new Error(`${VERDICTS_PAGE} lacks the marks ${begin} and ${end}`);
  const ignore = (which) => `<!-- prettier-ignore-${which} -->`;
  return `${before}${begin}\n${ignore('start')}\n\n${decisionTable()}\n\n${ignore('end')}\n${end}${after}`;
}

function read(path) {
  try {
    return readFileSync(file(path), 'utf8');
  } catch {
    return ''; // Not there: every line differs.
  }
}

const verdictsPage = read(VERDICTS_PAGE);
for (const [path, found, shouldBe] of [
  [PAGE, read(PAGE), wanted],
  [VERDICTS_PAGE, verdictsPage, withDecisionTable(verdictsPage)],
]) {
  if (!process.argv.includes('--check')) {
    writeFileSync(file(path), shouldBe);
  } else if (found !== shouldBe) {
    const [is, lines] = [found.split('\n'), shouldBe.split('\n')];
    const line = lines.findIndex((text, i) => text !== is[i]);
    const at = line < 0 ? lines.length : line;
    process.stderr.write(
      `${path} is stale from line ${at + 1}:\n- ${is[at] ?? '(end of file)'}\n+ ${lines[at] ?? '(end of file)'}\nRun \`npm run docs\` and commit the page.\n`,
    );
    process.exitCode = 1;
  }
}
