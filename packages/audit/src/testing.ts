/** For authors of rules: operations by hand, a rule run over them, and the whole auditor over evidence. */
export * from './testing/builder.js';
export * from './testing/visit.js';
export * from './testing/report.js';
export { formatMessage } from './rules/message.js';
export * from './testing/rule-tester.js';
