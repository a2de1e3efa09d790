/** One GET with patience: repeated where the backend says that it is busy, given up with a sentence otherwise. */
import type { RemoteOptions } from './types.js';

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

export type Fetched =
  { readonly kind: 'answer'; readonly answer: Answer } | { readonly kind: 'failed'; readonly reason: string };

const REPETITIONS = 3;
const MAX_DELAY_MS = 10_000;
const BUSY = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Never throws. The reason of a failure holds the path, never headers or credentials. A redirect is not followed: the
 * headers may hold a secret that the other host has no right to.
 */
export async function get(url: URL, accept: string, options: RemoteOptions): Promise<Fetched> {
  let delay = options.retryDelayMs ?? 500;
  let reason = '';
  for (let attempt = 0; attempt <= REPETITIONS; attempt += 1) {
    if (attempt > 0) await sleep(Math.min(delay, MAX_DELAY_MS));
    delay *= 2;
    try {
      const response = await fetch(withoutCredentials(url), {
        headers: { ...options.headers, ...credentials(url), accept },
        signal: AbortSignal.timeout(options.timeoutMs ?? 60_000),
        redirect: 'manual',
      });
      if (response.status >= 300 && response.status < 400) {
        await response.body?.cancel();
        return {
          kind: 'failed',
          reason: `${shown(url)} points ${target(response, url)}; ask that address itself`,
        };
      }
      const body = Buffer.from(await response.arrayBuffer());
      if (!BUSY.has(response.status)) {
        const contentType = response.headers.get('content-type') ?? '';
        return { kind: 'answer', answer: { status: response.status, contentType, body } };
      }
      reason = `${shown(url)} answered ${response.status}`;
      const seconds = Number(response.headers.get('retry-after'));
      if (seconds > 0) delay = seconds * 1_000;
    } catch (error) {
      reason = `${shown(url)} cannot be reached (${why(error)})`;
    }
  }
  return { kind: 'failed', reason };
}

/** Where a redirect leads, without its query. */
function target(response: Response, from: URL): string {
  const location = response.headers.get('location');
  if (location === null || !URL.canParse(location, from.href)) return 'elsewhere';
  return `to ${shown(new URL(location, from))}`;
}

function why(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  return cause?.code ?? error.message;
}

/** Origin and path. */
export function shown(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

function withoutCredentials(url: URL): URL {
  const bare = new URL(url);
  bare.username = '';
  bare.password = '';
  return bare;
}

function credentials(url: URL): Readonly<Record<string, string>> {
  if (url.username === '') return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** An address below the base, with a query. */
export function below(base: URL, path: string, query: Readonly<Record<string, string>>): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
  return url;
}
