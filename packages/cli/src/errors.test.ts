import { expect, test } from 'vitest';
import { CliError, EXIT, describeError } from './errors.js';

test('an error with a remedy is two lines and no stack', () => {
  expect(describeError(new CliError(EXIT.usage, 'x is wrong', 'make it right.'))).toBe(
    'waybill: x is wrong\n  Remedy: make it right.\n',
  );
});

test('an error that nobody foresaw says whose defect it is, and where', () => {
  expect(describeError(new TypeError('boom'))).toMatch(
    /^waybill: unexpected error: boom\n {2}Remedy: this is a defect of waybill.*\nTypeError: boom\n {4}at /,
  );
});

test('a thrown value that is no error is told too', () => {
  expect(describeError('odd')).toContain('unexpected error: odd');
});
