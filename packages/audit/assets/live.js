'use strict';
// Everything from the evidence is written as text, never as markup.
const words = JSON.parse(document.getElementById('words').textContent);
const byId = (id) => document.getElementById(id);
const search = byId('search');
let chosen = '';
let latest;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = shownText(text);
  if (className) made.className = className;
  return made;
}

const plural = (count, one, many) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
const bytes = (count) => (count < 1e6 ? `${Math.ceil(count / 1e3)} kB` : `${(count / 1e6).toFixed(1)} MB`);

function head(data) {
  const total = Object.values(data.counts.verdicts).reduce((sum, count) => sum + count, 0);
  const findings = Object.values(data.counts.findings).reduce((sum, count) => sum + count, 0);
  byId('sentence').textContent =
    `${plural(total, 'operation', 'operations')} judged, ${plural(findings, 'finding', 'findings')}; ` +
    `${plural(data.openGroups, 'more waits', 'more wait')} for ${data.graceMs / 1000} s without news.`;
  const parts = [
    data.lastRun === 0 ? 'not looked yet' : `looked at ${new Date(data.lastRun).toISOString().slice(0, 19)}Z`,
  ];
  if (data.lagBytes > 0) parts.push(`${bytes(data.lagBytes)} not read yet`);
  if (data.damaged > 0) parts.push(plural(data.damaged, 'damaged place', 'damaged places'));
  if (data.quarantined > 0) parts.push(`${plural(data.quarantined, 'body', 'bodies')} in quarantine`);
  if (data.refused > 0) parts.push(`${plural(data.refused, 'request', 'requests')} asked to come again`);
  if (data.emit !== null && data.emit.waitingBytes > 0) parts.push('events wait to be sent');
  byId('health').textContent = parts.join(' · ');
}

/** The figures are drawn anew every two seconds; a chip that had the focus of the keyboard keeps it. */
function chips(data) {
  const focused = document.activeElement?.dataset?.chip;
  drawChips(data);
  if (focused === undefined) return;
  for (const button of document.querySelectorAll('button[data-chip]')) {
    if (button.dataset.chip === focused) button.focus();
  }
}

function drawChips(data) {
  const verdicts = Object.entries(data.counts.verdicts).filter(([, count]) => count > 0);
  byId('verdicts').replaceChildren(
    ...verdicts.map(([verdict, count]) => {
      const button = element(
        'button',
        `${verdict} ${count.toLocaleString('en')}`,
        `chip ${toneOf[verdict] ?? ''}`,
      );
      button.type = 'button';
      button.title = words[verdict] ?? '';
      button.dataset.chip = verdict;
      button.setAttribute('aria-pressed', String(chosen === verdict));
      button.addEventListener('click', () => {
        chosen = chosen === verdict ? '' : verdict;
        render();
      });
      return button;
    }),
  );
  const findings = Object.entries(data.counts.findings).sort(([, a], [, b]) => b - a);
  byId('findings').replaceChildren(
    ...(findings.length === 0
      ? [element('span', 'none', 'soft')]
      : findings.map(([key, count]) => {
          const [rule, level] = key.split(' ');
          const className = level === 'error' ? 'bad' : level === 'warning' ? 'doubt' : '';
          const button = element('button', `${rule} ${count.toLocaleString('en')}`, `chip ${className}`);
          button.type = 'button';
          button.title = level;
          button.dataset.chip = key;
          button.addEventListener('click', () => {
            search.value = search.value === rule ? '' : rule;
            render();
          });
          return button;
        })),
  );
}

/** A cell; on a narrow screen, where rows are stacked, its label stands before it. */
function cell(label, text, className) {
  const made = element('td', text, className);
  made.dataset.label = label;
  return made;
}

/** One line for a rule, however often it found something in the operation. */
function byRule(findings) {
  const rules = new Map();
  for (const finding of findings) rules.set(finding.rule, [...(rules.get(finding.rule) ?? []), finding]);
  return rules;
}

function row(change) {
  const made = element('tr');
  made.append(cell('judged', new Date(change.at).toISOString().slice(11, 19), 'mono time'));
  made.append(cell('operation', change.key ?? '-', 'mono key'));
  made.append(cell('tool', change.tool ?? '-'));
  // Broken after a slash: `STREAM_INCOMPLETE/closed_before_response` is wider than its column.
  const told = cell('told');
  for (const part of (change.told ?? '-').split(/(?<=\/)/)) told.append(shownText(part), element('wbr'));
  made.append(told);
  made.append(cell('effect', change.effect ?? '-'));
  const verdict = cell('verdict');
  verdict.append(element('strong', change.verdict ?? '-', toneOf[change.verdict] ?? ''));
  if (change.previous !== null && change.previous !== change.verdict) {
    verdict.append(element('div', `was ${change.previous}`, 'soft'));
  }
  if (change.action !== null && change.action !== 'none')
    verdict.append(element('div', `do: ${change.action}`, 'soft'));
  made.append(verdict);
  const findings = cell('findings', undefined, 'findings');
  if (change.findings.length === 0) findings.append('-');
  for (const [rule, found] of byRule(change.findings)) {
    const [{ level, message }] = found;
    const line = element('div');
    line.append(element('b', rule, level === 'error' ? 'bad' : level === 'warning' ? 'doubt' : 'soft'));
    line.append(` ${shownText(message)}`);
    if (found.length > 1) line.append(element('span', ` and ${found.length - 1} more of it`, 'soft'));
    findings.append(line);
  }
  made.append(findings);
  const trace = cell('trace', change.traceId.slice(0, 16) || '-', 'mono soft trace');
  trace.title = change.traceId;
  made.append(trace);
  return made;
}

function matches(change) {
  if (chosen !== '' && change.verdict !== chosen) return false;
  const text = search.value.trim().toLowerCase();
  if (text === '') return true;
  return [change.key, change.tool, change.traceId, change.told, ...change.rules].some(
    (each) => each !== null && each.toLowerCase().includes(text),
  );
}

function nothing(changes) {
  const made = element('tr');
  const text =
    changes === 0
      ? 'Nothing was judged since the start. Send OTLP to this address: OTEL_EXPORTER_OTLP_ENDPOINT=' +
        location.origin
      : 'None of the latest changes fits what is chosen above; for one of before: waybill explain OPERATION FOLDER';
  const only = element('td', text, 'soft');
  only.colSpan = 8;
  made.append(only);
  return made;
}

function render() {
  if (latest === undefined) return;
  head(latest);
  chips(latest);
  const shown = latest.changes.filter(matches);
  byId('rows').replaceChildren(...(shown.length === 0 ? [nothing(latest.changes.length)] : shown.map(row)));
  byId('shown').textContent =
    `${shown.length} of the latest ${latest.changes.length} changes; all of them are in ${latest.eventFile}`;
}

async function load() {
  try {
    const response = await fetch('/live.json', { cache: 'no-store' });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    const data = await response.json();
    document.body.classList.remove('stale');
    if (!byId('hold').checked) {
      latest = data;
      render();
    }
  } catch (error) {
    document.body.classList.add('stale');
    byId('sentence').textContent =
      `No answer from waybill serve (${error.message}); the figures below are old.`;
  }
  setTimeout(() => void load(), 2000);
}

// Links of other pages, for instance Jaeger's, name an operation.
search.value = new URLSearchParams(location.search).get('operation') ?? '';
search.addEventListener('input', render);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  }
});
void load();
