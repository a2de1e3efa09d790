// A program in a worker thread. MATRIX_PROGRAM names it, MATRIX_EXEC_ARGV gives the worker arguments of its own.
import { Worker } from 'node:worker_threads';

const execArgv = process.env.MATRIX_EXEC_ARGV;
const options = execArgv === undefined ? {} : { execArgv: JSON.parse(execArgv) };
const worker = new Worker(new URL(process.env.MATRIX_PROGRAM, import.meta.url), options);
worker.once('exit', (code) => {
  process.exitCode = code;
});
