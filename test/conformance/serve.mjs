// A Streamable HTTP endpoint on a free port of 127.0.0.1, whose port it prints. `open(options)` gives a transport with
// a server of its own behind it; sessions, resumption and the check of the Host header are the same for both SDKs.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

/** Keeps the events of every stream, so that a client can come back for what it missed. */
class EventStore {
  #events = [];
  async storeEvent(streamId, message) {
    const id = `${streamId}/${this.#events.length}`;
    this.#events.push({ id, streamId, message });
    return id;
  }
  async getStreamIdForEventId(eventId) {
    return this.#events.find(({ id }) => id === eventId)?.streamId;
  }
  async replayEventsAfter(lastEventId, { send }) {
    const at = this.#events.findIndex(({ id }) => id === lastEventId);
    const streamId = this.#events[at]?.streamId ?? '';
    for (const event of this.#events.slice(at + 1)) {
      if (event.streamId === streamId && Object.keys(event.message).length > 0)
        await send(event.id, event.message);
    }
    return streamId;
  }
}

/** Whether host and origin of a request are this machine: a page of another site may have had its name rebound. */
export function isLocal({ headers: { host, origin } }) {
  const urls = [`http://${host ?? 'nobody.invalid'}`, ...(origin === undefined ? [] : [origin])];
  return urls.every((url) => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname));
}

export function serve(open) {
  const sessions = new Map();
  const http = createServer((request, response) => void answer(request, response));
  async function answer(request, response) {
    if (!isLocal(request)) {
      response.writeHead(403).end('Forbidden host');
      return;
    }
    const id = request.headers['mcp-session-id'];
    if (id !== undefined && !sessions.has(id)) {
      response.writeHead(404).end('No such session');
      return;
    }
    const transport = sessions.get(id) ?? (await begin());
    await transport.handleRequest(request, response);
  }
  async function begin() {
    const transport = await open({
      sessionIdGenerator: () => randomUUID(),
      eventStore: new EventStore(),
      retryInterval: 500,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    return transport;
  }
  http.listen(0, '127.0.0.1', () => console.log(http.address().port));
}
