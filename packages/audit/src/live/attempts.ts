/** How often the same body failed in the same way. */
import { createHash } from 'node:crypto';

/** Bodies remembered; a sender that comes again comes soon. */
const MAX_BODIES = 1_000;

export class Attempts {
  readonly #counts = new Map<string, number>();

  /** Counts one more failure; gives how many there were. */
  failed(body: Uint8Array, why: string): number {
    const key = keyOf(body, why);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.delete(key);
    this.#counts.set(key, count);
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size <= MAX_BODIES) break;
      this.#counts.delete(oldest);
    }
    return count;
  }

  forget(body: Uint8Array, why: string): void {
    this.#counts.delete(keyOf(body, why));
  }
}

function keyOf(body: Uint8Array, why: string): string {
  return createHash('sha256').update(why).update('\0').update(body).digest('base64');
}
