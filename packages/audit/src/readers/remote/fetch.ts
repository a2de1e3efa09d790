/** Fetches traces of an address into a file of JSON lines, from where they are read (and read again) like any other. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { get } from './http.js';
import { fetchJaeger } from './jaeger.js';
import { fetchTempo } from './tempo.js';
import type { RemoteOptions, RemoteProblem, RemoteUrl } from './types.js';

/**
 * Writes every answer to `file`; answers what the backend could not give. Never throws for what a backend does.
 */
export async function fetchInto(
  file: string,
  remote: RemoteUrl,
  options: RemoteOptions,
): Promise<readonly RemoteProblem[]> {
  const problems: RemoteProblem[] = [];
  const fd = openSync(file, 'w', 0o600);
  const sink = {
    line: (text: string): void => {
      writeSync(fd, `${text}\n`);
    },
    problem: (problem: RemoteProblem): void => {
      problems.push(problem);
    },
  };
  try {
    switch (remote.backend) {
      case 'jaeger':
        await fetchJaeger(remote.url, options, sink);
        break;
      case 'tempo':
        await fetchTempo(remote.url, options, sink);
        break;
      case 'plain':
        await fetchPlain(fd, remote.url, options, sink.problem);
        break;
    }
  } finally {
    closeSync(fd);
  }
  return problems;
}

/** Any address that answers with a trace or an export; the bytes decide what it is. */
async function fetchPlain(
  fd: number,
  url: URL,
  options: RemoteOptions,
  problem: (problem: RemoteProblem) => void,
): Promise<void> {
  const fetched = await get(url, 'application/json, application/x-protobuf;q=0.9, */*;q=0.5', options);
  const remedy = 'check the address and the headers; jaeger+http://… and tempo+http://… are searched by time';
  if (fetched.kind === 'failed') {
    problem({ kind: 'failed', reason: fetched.reason, remedy });
    return;
  }
  const { status, body } = fetched.answer;
  if (status < 200 || status > 299) {
    problem({ kind: 'failed', reason: `${url.origin}${url.pathname} answered ${status}`, remedy });
    return;
  }
  for (let at = 0; at < body.length;) at += writeSync(fd, body, at);
}
