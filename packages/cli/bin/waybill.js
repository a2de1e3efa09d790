#!/usr/bin/env node
// Committed, not built: npm links a bin before `prepare` has built anything.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  const { run } = await import(main.href);
  // No process.exit(): it can hang in V8's shutdown on Node 24 (nodejs/node#54918) and cuts off pending output.
  process.exitCode = await run(process.argv.slice(2));
} else {
  process.stderr.write('waybill: not built yet. Remedy: run `npm run build` in the checkout.\n');
  process.exitCode = 2;
}
