// Prints "<passed> <failed>" of a vitest JSON report. No report, no test, or a skip under CI=true is a failure.
import { readFileSync } from 'node:fs';

const [file, exitCode] = process.argv.slice(2);
let passed = 0;
let failed = 0;
try {
  const report = JSON.parse(readFileSync(file, 'utf8'));
  passed = report.numPassedTests;
  failed = report.numFailedTests + report.numFailedTestSuites;
  if (process.env.CI === 'true') failed += report.numPendingTests + report.numTodoTests;
  if (passed === 0) failed += 1;
} catch (error) {
  process.stderr.write(`${file}: ${error.message}\n`);
  failed += 1;
}
if (exitCode !== '0' && failed === 0) failed += 1;
process.stdout.write(`${passed} ${failed}\n`);
