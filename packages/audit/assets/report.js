/* The page of one audit report: filters, a table of operations, one timeline an operation. No network, no library. */
'use strict';

(() => {
  const PAGE = 200;
  const SVG = 'http://www.w3.org/2000/svg';
  const report = JSON.parse(document.getElementById('report').textContent);
  const words = JSON.parse(document.getElementById('words').textContent);
  const paths = new Map(report.inputs.map((input) => [input.id, input.path]));

  const levelTones = { error: 'bad', warning: 'doubt', info: 'soft' };

  const placesOf = new Map();
  report.operations.forEach((operation, index) => placesOf.set(operation, report.places.operations[index]));
  report.findings.forEach((finding, index) => placesOf.set(finding, report.places.findings[index]));

  const findingsOf = new Map();
  for (const finding of report.findings) {
    const key = finding.operation ?? '';
    if (!findingsOf.has(key)) findingsOf.set(key, []);
    findingsOf.get(key).push(finding);
  }

  /** An element with attributes and children; text is only ever text. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.map((child) => (typeof child === 'string' ? shownText(child) : child)));
    return made;
  }

  /** A cell; on a narrow screen, where rows are stacked, its label stands before it. */
  function cell(label, className, ...children) {
    return element('td', { 'data-label': label, class: className }, ...children);
  }

  /** Text that may be broken after a slash: `STREAM_INCOMPLETE/closed_before_response` is wider than its column. */
  function breakable(text) {
    return text.split(/(?<=\/)/).flatMap((part, index) => (index === 0 ? [part] : [element('wbr'), part]));
  }

  function drawn(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.map((child) => (typeof child === 'string' ? shownText(child) : child)));
    return made;
  }

  /** `s1:3` as `traces.jsonl:3`; each place once. */
  function placeTexts(places) {
    const texts = places.map((place) => {
      const id = /^[^:@]+/.exec(place)?.[0] ?? place;
      return (paths.get(id) ?? id) + place.slice(id.length);
    });
    return [...new Set(texts)];
  }

  function findingItem(finding) {
    const places = placeTexts(placesOf.get(finding)).join(', ');
    return element(
      'li',
      {},
      element('span', { class: levelTones[finding.level] }, `${finding.level} ${finding.rule}`),
      `${finding.certainty === 'suspected' ? ' (suspected)' : ''}: ${finding.message} `,
      element('span', { class: 'soft mono' }, places),
    );
  }

  // --- the timeline: two lanes a call, each by the clock of its own host

  function lanesOf(operation) {
    return operation.calls.flatMap((call) =>
      ['client', 'server'].flatMap((side) => {
        const record = call[side];
        if (record === null) return [];
        const marks = record.stages
          .map((stage) => ({ name: stage.name, time: BigInt(stage.timeUnixNano) }))
          .filter((stage) => stage.time > 0n);
        const times = [
          BigInt(record.startUnixNano),
          BigInt(record.endUnixNano),
          ...marks.map((mark) => mark.time),
        ];
        const known = times.filter((time) => time > 0n);
        if (known.length === 0) return [];
        const from = known.reduce((a, b) => (b < a ? b : a));
        const to = known.reduce((a, b) => (b > a ? b : a));
        return [{ side, call, record, marks, from, to }];
      }),
    );
  }

  function timeline(operation) {
    const lanes = lanesOf(operation);
    if (lanes.length === 0)
      return element('p', { class: 'soft' }, 'No span of this operation is in the evidence.');
    const from = lanes.reduce((a, lane) => (lane.from < a ? lane.from : a), lanes[0].from);
    const to = lanes.reduce((a, lane) => (lane.to > a ? lane.to : a), lanes[0].to);
    const after = (time) => Number(BigInt.asIntN(64, time - from));
    const length = after(to) || 1;
    const left = 170;
    const width = 780;
    const row = 46;
    const x = (time) => left + (after(time) / length) * width;
    const milliseconds = (time) => `${(after(time) / 1e6).toFixed(1)} ms`;
    const summary = lanes
      .map(
        (lane) =>
          `${lane.side} of call ${lane.call.callId}: ${lane.marks.map((mark) => `${mark.name} at ${milliseconds(mark.time)}`).join(', ')}`,
      )
      .join('; ');
    const picture = drawn('svg', {
      viewBox: `0 0 1000 ${lanes.length * row + 24}`,
      role: 'img',
      'aria-label': `Timeline. ${summary}`,
    });
    for (const [index, lane] of lanes.entries()) {
      const y = index * row + 8;
      picture.append(
        drawn('text', { x: 0, y: y + 12 }, `${lane.side} ${lane.record.service}`.slice(0, 26)),
        drawn('text', { x: 0, y: y + 27, opacity: 0.7 }, lane.record.outcome ?? 'no outcome'),
        drawn('line', { class: 'axis', x1: left, x2: left + width, y1: y + 8, y2: y + 8 }),
        drawn('rect', {
          class: lane.side,
          x: x(lane.from),
          y: y + 3,
          width: Math.max(2, x(lane.to) - x(lane.from)),
          height: 10,
          rx: 2,
          opacity: 0.35,
        }),
      );
      let lastLabel = -Infinity;
      for (const mark of lane.marks) {
        const at = x(mark.time);
        picture.append(
          drawn(
            'circle',
            { class: `${lane.side} mark`, cx: at, cy: y + 8, r: 5 },
            drawn('title', {}, `${mark.name}, ${milliseconds(mark.time)}`),
          ),
        );
        // A label stands right of its mark, at the right end left of it; one that has no room is in the tooltip.
        const atEnd = at > left + width - 110;
        if (at - lastLabel > (atEnd ? 210 : 105)) {
          const label = mark.name.replace(/^(client|server)\./, '');
          picture.append(
            drawn(
              'text',
              { x: atEnd ? at + 5 : at - 4, y: y + 27, 'text-anchor': atEnd ? 'end' : 'start' },
              label,
            ),
          );
          lastLabel = at;
        }
      }
    }
    picture.append(
      drawn('text', { x: left, y: lanes.length * row + 18, opacity: 0.7 }, '0 ms'),
      drawn(
        'text',
        { x: left + width, y: lanes.length * row + 18, 'text-anchor': 'end', opacity: 0.7 },
        milliseconds(to),
      ),
    );
    return picture;
  }

  function callItem(call) {
    const sides = ['client', 'server'].map((side) => {
      const record = call[side];
      if (record === null) return `${side}: no record`;
      const outcome =
        record.outcome === null
          ? 'no outcome'
          : record.outcome + (record.reason === null ? '' : `/${record.reason}`);
      return `${side}: ${outcome}, span ${record.spanId || '-'} in trace ${record.traceId || '-'}`;
    });
    const flags = call.flags.length === 0 ? '' : `; ${call.flags.join(', ')}`;
    return element('li', { class: 'mono' }, `${call.callId}  ${sides.join('; ')}${flags}`);
  }

  function details(operation) {
    const found = findingsOf.get(operation.key) ?? [];
    const { atLeast, atMost } = operation.effects;
    const body = [
      element(
        'p',
        {},
        element('strong', { class: toneOf[operation.verdict] }, operation.verdict),
        ` – ${words[operation.verdict] ?? ''}`,
      ),
      element(
        'p',
        { class: 'soft' },
        `row ${operation.rule} (${operation.reason}); to do: ${operation.action}; effects: ${atLeast === atMost ? atLeast : `${atLeast} to ${atMost}`}; evidence ${operation.evidenceState}; assurance ${operation.assurance}; run ${operation.runId ?? '-'}; id from ${operation.idSource ?? 'nobody'}`,
      ),
      element('div', { class: 'scroll', tabindex: '0' }, timeline(operation)),
      element('p', { class: 'soft' }, 'Each lane is drawn by the clock of its own host.'),
      element('h2', {}, 'Calls'),
      element('ul', {}, ...operation.calls.map(callItem)),
      element('h2', {}, 'Receipts and target'),
      element(
        'ul',
        {},
        ...operation.receipts.map((receipt) =>
          element(
            'li',
            {},
            `${receipt.receiptId}: ${receipt.outcome}, ${receipt.verification}, ${receipt.level}; ${receipt.object ?? 'no target'} version ${receipt.version ?? '-'}`,
          ),
        ),
        ...(operation.receipts.length === 0 ? [element('li', { class: 'soft' }, 'no receipt')] : []),
        ...(operation.target === null
          ? []
          : [
              element(
                'li',
                {},
                `target ${operation.target.object}: ${operation.target.state ?? '-'} version ${operation.target.version ?? '-'} (${operation.target.relation}${operation.target.fenced ? ', fenced' : ''})`,
              ),
            ]),
      ),
      element('h2', {}, 'Findings'),
      found.length === 0
        ? element('p', { class: 'soft' }, 'none')
        : element('ul', {}, ...found.map(findingItem)),
      element(
        'p',
        { class: 'soft mono' },
        `evidence: ${placeTexts(placesOf.get(operation)).slice(0, 40).join(' ')}`,
      ),
    ];
    return element('tr', {}, element('td', { class: 'details', colspan: '6' }, ...body));
  }

  // --- the table

  const rows = document.getElementById('rows');
  const shown = document.getElementById('shown');
  const more = document.getElementById('more');
  const search = document.getElementById('search');
  const ruleFilter = document.getElementById('rule');
  const verdictButtons = [...document.querySelectorAll('button[data-verdict]')];

  /** Text that the search looks in, made once. */
  const haystacks = report.operations.map((operation) =>
    [
      operation.key,
      operation.tool,
      operation.runId,
      operation.told,
      operation.verdict,
      ...operation.flags,
      ...operation.calls.map((call) => call.callId),
      ...(findingsOf.get(operation.key) ?? []).map((finding) => finding.rule),
    ]
      .join('\n')
      .toLowerCase(),
  );

  let matching = [];
  let rendered = 0;

  function select() {
    const text = search.value.trim().toLowerCase();
    const rule = ruleFilter.value;
    const verdicts = new Set(
      verdictButtons
        .filter((button) => button.getAttribute('aria-pressed') === 'true')
        .map((button) => button.dataset.verdict),
    );
    matching = report.operations.filter((operation, index) => {
      if (verdicts.size > 0 && !verdicts.has(operation.verdict)) return false;
      if (text !== '' && !haystacks[index].includes(text)) return false;
      if (rule === '') return true;
      return (findingsOf.get(operation.key) ?? []).some((finding) => finding.rule === rule);
    });
    rows.replaceChildren(...(matching.length === 0 && report.operations.length > 0 ? [nothing()] : []));
    rendered = 0;
    showMore();
  }

  function nothing() {
    const clear = element('button', { type: 'button' }, 'Show all operations');
    clear.addEventListener('click', () => {
      search.value = '';
      ruleFilter.value = '';
      for (const button of verdictButtons) button.setAttribute('aria-pressed', 'false');
      select();
      search.focus();
    });
    return element(
      'tr',
      {},
      element('td', { colspan: '6' }, 'No operation fits what is chosen above. ', clear),
    );
  }

  function showMore() {
    const next = matching.slice(rendered, rendered + PAGE);
    rows.append(...next.map(rowOf));
    rendered += next.length;
    shown.textContent = `${rendered} of ${matching.length} operations shown, ${report.operations.length} in all`;
    more.hidden = rendered >= matching.length;
  }

  /** Rules, then the flags that no rule of the same name says already. */
  function remarks(operation) {
    const found = (findingsOf.get(operation.key) ?? []).filter((finding) => finding.level !== 'info');
    const rules = new Set(found.map((finding) => finding.rule));
    const flags = operation.flags.filter((flag) => !rules.has(flag.replaceAll('_', '-')));
    return [...rules, ...flags].join(', ');
  }

  function rowOf(operation) {
    const open = element(
      'button',
      { type: 'button', 'aria-expanded': 'false', class: 'mono' },
      operation.key,
    );
    const row = element(
      'tr',
      {},
      cell('operation', '', open),
      cell('tool', '', operation.tool ?? '-'),
      cell('told', '', ...breakable(operation.told ?? '-')),
      cell('effect', '', operation.effectKind === 'read' ? 'read' : operation.effect),
      cell('verdict', toneOf[operation.verdict], operation.verdict),
      cell('findings', '', remarks(operation) || '-'),
    );
    let opened = null;
    open.addEventListener('click', () => {
      if (opened === null) {
        opened = details(operation);
        row.after(opened);
      } else {
        opened.remove();
        opened = null;
      }
      open.setAttribute('aria-expanded', String(opened !== null));
    });
    return row;
  }

  function moveFocus(step) {
    const buttons = [...rows.querySelectorAll('button[aria-expanded]')];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (next) next.focus();
  }

  for (const button of verdictButtons) {
    button.addEventListener('click', () => {
      button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'));
      select();
    });
  }
  search.addEventListener('input', select);
  ruleFilter.addEventListener('change', select);
  more.addEventListener('click', () => {
    const first = rendered;
    showMore();
    const buttons = rows.querySelectorAll('button[aria-expanded]');
    if (buttons[first]) buttons[first].focus();
  });
  document.addEventListener('keydown', (event) => {
    const typing = event.target === search || event.target === ruleFilter;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && !typing) {
      event.preventDefault();
      search.focus();
    } else if (event.key === 'Escape' && event.target === search) {
      search.value = '';
      select();
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && !typing) {
      if (!rows.contains(document.activeElement)) return;
      event.preventDefault();
      moveFocus(event.key === 'ArrowDown' ? 1 : -1);
    }
  });

  const apart = findingsOf.get('') ?? [];
  if (apart.length > 0) document.getElementById('apart').append(...apart.map(findingItem));
  select();
})();
