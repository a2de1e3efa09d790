/** The processes of the demo, and talking to them. */
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
/** The registration that every program of the example is started with. */
const registration = new URL('../otel.mjs', import.meta.url).href;

/** Starts one of the example's programs, instrumented by registration alone. */
export function startInstrumented(
  program: 'server' | 'client',
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  return fork(join(here, `${program}.js`), [], {
    execArgv: ['--import', registration],
    env: { ...process.env, OTEL_SERVICE_NAME: `todo-${program}`, ...environment },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** Runs the third process to its end and gives what it printed. */
export async function runTarget(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(here, 'target.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`target.js ${args[0] ?? ''} ended with ${code}`);
  return out.trim();
}

/** Starts `waybill serve` on a free port and waits until it takes spans. */
export async function startServe(directory: string): Promise<{ url: string; stop(): Promise<void> }> {
  const bin = join(
    dirname(createRequire(import.meta.url).resolve('waybill/package.json')),
    'bin',
    'waybill.js',
  );
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0', '--dir', directory], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += chunk.toString();
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found !== null) resolve(found[0]);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', (code) => reject(new Error(`waybill serve ended with ${code}: ${said}`)));
  });
  return { url, stop: () => stop(child) };
}

/** The next message of a child that `wanted` accepts; rejects when the child ends first. */
export function nextMessage<T, W extends T>(
  child: ChildProcess,
  wanted: (message: T) => message is W,
): Promise<W> {
  return new Promise((resolve, reject) => {
    const done = () => {
      child.off('message', onMessage);
      child.off('exit', onExit);
    };
    const onMessage = (message: unknown) => {
      if (!wanted(message as T)) return;
      done();
      resolve(message as W);
    };
    const onExit = (code: number | null) => {
      done();
      reject(new Error(`a process of the demo ended with ${code}`));
    };
    child.on('message', onMessage);
    child.once('exit', onExit);
  });
}

/** Asks a process to end, so that it flushes its spans, and waits until it has. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await exited;
  clearTimeout(late);
}
