/** Named points at which one party waits until another lets it go on. */
export interface Barriers {
  /** Resolves when the point is released; at once if it was released before. */
  wait(point: string): Promise<void>;
  /** Lets all that wait at the point go on, and all that come later. */
  release(point: string): void;
  /** Resolves when someone has come to wait at the point: the moment at which a fault can be injected. */
  reached(point: string): Promise<void>;
  /** Points in the order in which they were reached and released: the ground truth of a run. */
  readonly log: readonly { readonly point: string; readonly what: 'reached' | 'released' }[];
}

/**
 * Barriers instead of sleeps: a fault that is injected at a barrier happens at the same moment in every run.
 *
 * @example
 * const points = createBarriers();
 * const write = (async () => { await points.wait('before_commit'); return 'committed'; })();
 * await points.reached('before_commit'); // inject the fault here
 * points.release('before_commit');
 * await write;
 */
export function createBarriers(): Barriers {
  interface Point {
    readonly reached: Gate;
    readonly released: Gate;
  }
  const points = new Map<string, Point>();
  const log: { point: string; what: 'reached' | 'released' }[] = [];
  const at = (name: string): Point => {
    let point = points.get(name);
    if (point === undefined) {
      point = { reached: new Gate(), released: new Gate() };
      points.set(name, point);
    }
    return point;
  };
  return {
    log,
    wait(name) {
      const point = at(name);
      log.push({ point: name, what: 'reached' });
      point.reached.open();
      return point.released.passed;
    },
    release(name) {
      log.push({ point: name, what: 'released' });
      at(name).released.open();
    },
    reached: (name) => at(name).reached.passed,
  };
}

class Gate {
  readonly passed: Promise<void>;
  #open: () => void = () => undefined;
  constructor() {
    this.passed = new Promise((resolve) => {
      this.#open = resolve;
    });
  }
  open(): void {
    this.#open();
  }
}
