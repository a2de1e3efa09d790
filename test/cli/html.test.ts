import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { renderReport } from '@waybill/audit';
import { buildFinding, buildReport, buildReportCall, buildReportOperation } from '@waybill/audit/testing';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folder } from './cli.js';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executable = [process.env['CHROMIUM_BIN'] ?? '', ...places].find(
  (path) => path !== '' && existsSync(path),
);
if (executable === undefined) {
  process.stdout.write(
    'html report: skipped, no Chromium here. Set CHROMIUM_BIN to look at the page in one.\n',
  );
}

const COUNT = 10_000;
const hostile = '</script><script>document.title = "owned"</script><img src=x onerror="document.title=1">';
const operations = Array.from({ length: COUNT }, (_, index) =>
  buildReportOperation({
    key: `op-${String(index).padStart(5, '0')}`,
    tool: index === 1 ? hostile : index === 2 ? `pay\u202Eevil` : (['set_status', 'charge'][index % 2] ?? ''),
    verdict: index % 10 === 4 ? 'false_success' : 'verified_done',
    calls: [buildReportCall({ callId: `c-${index}` })],
  }),
);
const findings = operations
  .filter((operation) => operation.verdict === 'false_success')
  .map((operation) =>
    buildFinding({
      operation: operation.key,
      rule: 'false-success',
      level: 'error',
      message: `not there ${hostile}`,
    }),
  );

describe.skipIf(executable === undefined)('the HTML report of 10,000 operations in Chromium', () => {
  const place = folder({});
  const requests: string[] = [];
  const errors: string[] = [];
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    const file = join(place.path, 'report.html');
    writeFileSync(
      file,
      [...renderReport(buildReport(operations, findings), 'html', { color: false })].join(''),
    );
    browser = await chromium.launch({
      ...(executable === undefined ? {} : { executablePath: executable }),
      args: ['--no-sandbox'],
    });
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    await page.goto(pathToFileURL(file).href);
  });
  afterAll(async () => {
    await browser.close();
    place.remove();
  });

  const shown = () => page.locator('#shown').innerText();
  const keys = () => page.locator('#rows button[aria-expanded]').allInnerTexts();
  const focused = () => page.evaluate('document.activeElement.textContent');

  test('it says the counts and shows the first page', async () => {
    expect(await page.locator('header').innerText()).toContain(
      'Of 10000 operations: 9000 proven done, 1000 against',
    );
    expect(await shown()).toBe('200 of 10000 operations shown, 10000 in all');
    expect(await keys()).toHaveLength(200);
  });

  test('it asked for nothing but itself and raised no error', () => {
    expect(requests.filter((url) => !url.startsWith('file:'))).toEqual([]);
    expect(requests).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test('text of the evidence stays text', async () => {
    expect(await page.title()).toMatch(/^Waybill: /);
    expect(await page.locator('#rows tr').nth(1).innerText()).toContain('</script>');
    expect(await page.locator('#rows img').count()).toBe(0);
  });

  test('a character that reorders text is written out', async () => {
    expect(await page.locator('#rows tr').nth(2).innerText()).toContain('pay\\u202eevil');
  });

  test('a filter that fits nothing says so, and how to go back', async () => {
    await page.locator('#search').fill('no such operation');
    expect(await page.locator('#rows').innerText()).toContain('No operation fits');
    await page.locator('#rows button', { hasText: 'Show all' }).click();
    expect(await shown()).toBe('200 of 10000 operations shown, 10000 in all');
  });

  test('at 400 pixels every verdict is in sight and nothing is wider than the page', async () => {
    await page.setViewportSize({ width: 400, height: 900 });
    const box = await page.locator('#rows td[data-label="verdict"]').first().boundingBox();
    expect(box?.x).toBeLessThan(100);
    expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(400);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(400);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test('verdict, rule and search narrow the table, and the counts follow', async () => {
    await page.locator('button[data-verdict="false_success"]').click();
    expect(await shown()).toBe('200 of 1000 operations shown, 10000 in all');
    await page.locator('#search').fill('op-0001');
    expect(await keys()).toEqual(['op-00014']);
    await page.locator('button[data-verdict="false_success"]').click();
    expect(await keys()).toHaveLength(10);
    await page.locator('#rule').selectOption('false-success');
    expect(await keys()).toEqual(['op-00014']);
    await page.locator('#rule').selectOption('');
    await page.locator('#search').fill('');
    expect(await shown()).toBe('200 of 10000 operations shown, 10000 in all');
  });

  test('more rows come on demand, and the focus goes to the first of them', async () => {
    await page.locator('#more').click();
    expect(await keys()).toHaveLength(400);
    expect(await focused()).toBe('op-00200');
  });

  test('an operation opens to its timeline, calls, receipts and findings, and closes again', async () => {
    await page.locator('#rows button', { hasText: 'op-00004' }).click();
    const details = page.locator('td.details');
    expect(await details.locator('svg[role="img"]').getAttribute('aria-label')).toContain(
      'server.effect_confirmed at 58.0 ms',
    );
    expect(await details.locator('svg circle').count()).toBe(6);
    expect(await details.innerText()).toMatch(/c-4[^]*r-1: applied[^]*error false-success/);
    await page.locator('#rows button', { hasText: 'op-00004' }).click();
    expect(await details.count()).toBe(0);
  });

  test('everything is reached by keyboard, in the order of the page', async () => {
    await page.locator('body').click({ position: { x: 2, y: 2 } });
    await page.keyboard.press('/');
    expect(await page.evaluate('document.activeElement.id')).toBe('search');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.id')).toBe('rule');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('op-00000');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toBe('op-00001');
    await page.keyboard.press('Enter');
    expect(await page.locator('td.details').count()).toBe(1);
    await page.keyboard.press('Enter');
  });

  test('dark mode has its own colours', async () => {
    const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await paper();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await paper()).not.toBe(light);
    const folderOfPictures = process.env['WAYBILL_SCREENSHOTS'];
    if (folderOfPictures === undefined) return;
    await page.locator('#rows button', { hasText: 'op-00004' }).click();
    await page.screenshot({ path: join(folderOfPictures, 'report-dark.png') });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.screenshot({ path: join(folderOfPictures, 'report-light.png') });
  });
});
