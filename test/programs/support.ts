import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ATTR_CALL_ID } from '@waybill/core';
import { expect } from 'vitest';
import { cleanEnvironment, exportTo, pairOf, runNode, startCollector } from '../loading/harness.js';
import type { ExportedSpan, ProgramRun } from '../loading/harness.js';

const PIN_LOOPBACK = new URL('./pin-loopback.mjs', import.meta.url).href;
const SCOPE = '@waybill/instrumentation-mcp';

/** A program to run: a script of its own folder, or of a package in it, and what to hand it. */
export interface Program {
  readonly cwd: string;
  /** Node of another release line; this process's own by default. */
  readonly node?: string;
  /** `{endpoint}` in one of them stands for the address of the collector. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Observation {
  readonly run: ProgramRun;
  readonly spans: readonly ExportedSpan[];
}

/**
 * Runs a program to its end. `imports` are `--import` URLs that reach it and, through NODE_OPTIONS, every Node process
 * that it starts with its own environment; none of them is the run without instrumentation.
 */
export async function observe(program: Program, imports: readonly string[]): Promise<Observation> {
  const collector = await startCollector();
  try {
    const run = await runNode(
      program.args.map((arg) => arg.replace('{endpoint}', collector.endpoint)),
      {
        cwd: program.cwd,
        timeoutMs: 120_000,
        env: { ...exportTo(collector), NODE_OPTIONS: importOptions(imports), ...program.env },
        ...(program.node === undefined ? {} : { command: [program.node] }),
      },
    );
    return { run, spans: collector.spans };
  } finally {
    await collector.close();
  }
}

export interface HttpServer {
  readonly port: number;
  readonly spans: readonly ExportedSpan[];
  /** Ends the server by SIGTERM and waits until its spans have arrived. */
  stop(): Promise<void>;
}

/** Starts a program that serves HTTP, on 127.0.0.1 and a free port whatever it asks for. */
export async function serve(program: Program, imports: readonly string[]): Promise<HttpServer> {
  const collector = await startCollector();
  const folder = mkdtempSync(join(tmpdir(), 'waybill-serve-'));
  const portFile = join(folder, 'port');
  const child = spawn(program.node ?? process.execPath, program.args, {
    cwd: program.cwd,
    env: {
      ...cleanEnvironment(),
      ...exportTo(collector),
      ...program.env,
      NODE_OPTIONS: importOptions([...imports, PIN_LOOPBACK]),
      TEST_PORT_FILE: portFile,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
    clearTimeout(timer);
    await collector.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const deadline = Date.now() + 60_000;
  while (!existsSync(portFile) || readFileSync(portFile, 'utf8') === '') {
    if (Date.now() > deadline || child.exitCode !== null) {
      await stop();
      throw new Error(`${program.args.join(' ')} did not listen: ${stderr}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { port: Number(readFileSync(portFile, 'utf8')), spans: collector.spans, stop };
}

/** The spans of this project among all that a program exported. */
export function ours(spans: readonly ExportedSpan[]): readonly ExportedSpan[] {
  return spans.filter(({ scope }) => scope === SCOPE);
}

/** The one call of `tool` has a client and a server span, parent and child, with one call id. */
export function expectOneTrace(spans: readonly ExportedSpan[], tool: string): void {
  const { client, server } = pairOf(ours(spans), tool);
  expect(server).toMatchObject({ traceId: client.traceId, parentSpanId: client.spanId });
  expect(server.attributes[ATTR_CALL_ID]).toBe(client.attributes[ATTR_CALL_ID]);
}

function importOptions(imports: readonly string[]): string {
  return imports.map((url) => `--import ${url}`).join(' ');
}
