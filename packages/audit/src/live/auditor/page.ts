/** The live page: one document that loads nothing but its own figures, every two seconds, from where it came from. */
import { readFileSync } from 'node:fs';
import { VERDICTS } from '@waybill/core';
import type { StateEvent } from './events.js';
import type { MetricsInput } from './metrics.js';

/** Changes that the page shows; older ones are in the file of events. */
export const SHOWN_CHANGES = 500;

export interface PageData extends MetricsInput {
  readonly recent: readonly StateEvent[];
  readonly graceMs: number;
  readonly now: number;
  readonly eventFile: string;
}

export function livePage(): string {
  const asset = (name: string): string =>
    readFileSync(new URL(`../../../assets/${name}`, import.meta.url), 'utf8');
  const words = JSON.stringify(Object.fromEntries(VERDICTS.map(({ verdict, proven }) => [verdict, proven])));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Waybill live</title>
<style>
${asset('report.css')}
${asset('live.css')}</style>
</head>
<body>
<header>
<h1>Did it happen?</h1>
<p id="sentence" role="status">Loading.</p>
<p class="soft" id="health"></p>
</header>
<main>
<section aria-labelledby="verdicts-title">
<h2 id="verdicts-title">Operations by verdict</h2>
<div class="filters" id="verdicts"></div>
</section>
<section aria-labelledby="findings-title">
<h2 id="findings-title">Findings by rule</h2>
<div class="filters" id="findings"></div>
</section>
<section aria-labelledby="changes-title">
<h2 id="changes-title">Latest changes</h2>
<div class="filters" role="search"><label>Find <input type="search" id="search" placeholder="operation, tool, trace, rule"></label>
<label><input type="checkbox" id="hold"> hold still</label> <span class="soft" id="shown"></span></div>
<div class="scroll"><table>
<thead><tr><th scope="col">judged</th><th scope="col">operation</th><th scope="col">tool</th><th scope="col">told</th><th scope="col">effect</th><th scope="col">verdict</th><th scope="col">findings</th><th scope="col">trace</th></tr></thead>
<tbody id="rows"></tbody>
</table></div>
<noscript><p>The page needs JavaScript; the same figures are at <a href="/metrics">/metrics</a>.</p></noscript>
</section>
</main>
<script type="application/json" id="words">${words.replaceAll('<', '\\u003c')}</script>
<script>
${asset('common.js')}${asset('live.js')}</script>
</body>
</html>
`;
}

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

export function pageJson(data: PageData): string {
  const { auditor, receiver, emitter } = data;
  return JSON.stringify({
    now: data.now,
    graceMs: data.graceMs,
    eventFile: data.eventFile,
    counts: auditor.counts,
    openGroups: auditor.openGroups,
    lagBytes: auditor.lagBytes,
    lastRun: auditor.lastRun,
    damaged: auditor.damaged,
    quarantined: receiver.quarantined,
    refused: receiver.refused + receiver.slowed,
    requests: receiver.requests,
    emit: emitter ?? null,
    changes: data.recent.map((event) => ({
      at: event.at,
      revision: event.revision,
      previous: event.previous,
      key: event.operation?.key ?? null,
      tool: event.operation?.tool ?? null,
      told: event.operation?.told ?? null,
      effect: event.operation?.effect ?? null,
      verdict: event.operation?.verdict ?? null,
      action: event.operation?.action ?? null,
      traceId: event.traceId,
      rules: event.rules,
      findings: event.findings.map(({ rule, level, message }) => ({ rule, level, message })),
    })),
  });
}
