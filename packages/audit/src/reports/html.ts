/**
 * One page that needs nothing else: style, script and the JSON report are inside, and its policy forbids any request.
 * What was found in the evidence is only ever written as text, by the page's script from its JSON.
 */
import { readFileSync } from 'node:fs';
import { VERDICTS } from '@waybill/core';
import type { AuditReport } from '../report.js';
import { renderJson } from './json.js';
import { isoTime, printable, summarySentence } from './text.js';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function html(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

function asset(name: string): string {
  return readFileSync(new URL(`../../assets/${name}`, import.meta.url), 'utf8');
}

/** JSON inside a script element: without `<` nothing in it can end the element or begin a comment. */
function inScript(json: string): string {
  return json.replaceAll('<', '\\u003c');
}

function* head(report: AuditReport): Generator<string> {
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Waybill: ${html(summarySentence(report))}</title>
<style>
${asset('report.css')}</style>
</head>
<body>
<header>
<h1>Did it happen?</h1>
<p>${html(summarySentence(report))}</p>
<p class="soft">As of ${isoTime(report.asOf.unixNano)}, grace ${report.graceMs} ms, ${html(report.tool.name)} ${html(report.tool.version)}.</p>
`;
}

function* evidence(report: AuditReport): Generator<string> {
  const { coverage } = report;
  yield '<details><summary>Evidence</summary>\n<ul>\n';
  for (const input of report.inputs) {
    yield `<li><code>${html(input.path)}</code> ${html(input.format)}: ${input.spans} spans, ${input.mcpSpans} of tool calls, ${input.records} records, ${input.damaged.length} damaged places</li>\n`;
  }
  yield `<li>${coverage.calls} calls: client record ${coverage.withClient}, server record ${coverage.withServer}; operations with a receipt ${coverage.withReceipt} of ${coverage.operations}</li>\n`;
  for (const note of coverage.notes) yield `<li>${html(note)}</li>\n`;
  for (const entry of coverage.notEvaluated) {
    yield `<li>not evaluated: ${html(entry.rule)} (${html(entry.because)})</li>\n`;
  }
  yield '</ul>\n</details>\n';
}

function* filters(report: AuditReport): Generator<string> {
  yield '<div class="filters" role="search">\n<label>Find <input type="search" id="search" placeholder="operation, tool, call, rule (press /)"></label>\n';
  yield '<label>Rule <select id="rule"><option value="">any</option>';
  const rules = new Map<string, number>();
  for (const finding of report.findings) rules.set(finding.rule, (rules.get(finding.rule) ?? 0) + 1);
  for (const [rule, count] of [...rules].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield `<option value="${html(rule)}">${html(rule)} (${count})</option>`;
  }
  yield '</select></label>\n';
  const counts: Readonly<Partial<Record<string, number>>> = report.summary.verdicts;
  for (const { verdict } of VERDICTS) {
    const count = counts[verdict];
    if (count !== undefined) {
      yield `<button type="button" data-verdict="${verdict}" aria-pressed="false">${verdict} ${count}</button>\n`;
    }
  }
  yield '</div>\n';
}

export function* renderHtml(report: AuditReport): Generator<string> {
  yield* head(report);
  yield* evidence(report);
  yield '</header>\n<main>\n<ul id="apart"></ul>\n';
  yield* filters(report);
  yield `<p class="soft" id="shown" role="status"></p>
<div class="scroll"><table>
<thead><tr><th scope="col">operation</th><th scope="col">tool</th><th scope="col">told</th><th scope="col">effect</th><th scope="col">verdict</th><th scope="col">findings and flags</th></tr></thead>
<tbody id="rows"></tbody>
</table></div>
<p><button type="button" id="more" hidden>Show more</button></p>
<noscript><p>The table needs JavaScript; nothing is loaded from anywhere. The same report as text: <code>waybill audit --format pretty</code>.</p></noscript>
</main>
`;
  const words = Object.fromEntries(VERDICTS.map(({ verdict, proven }) => [verdict, proven]));
  yield `<script type="application/json" id="words">${inScript(JSON.stringify(words))}</script>\n`;
  yield '<script type="application/json" id="report">';
  for (const piece of renderJson(report)) yield inScript(piece);
  yield `</script>\n<script>\n${asset('common.js')}${asset('report.js')}</script>\n</body>\n</html>\n`;
}
