/**
 * Pages by time: backends answer a search with the first so many traces and no next page, so a window that came back
 * full is halved until every answer is known to be whole.
 */
export interface Window {
  /** Milliseconds since the epoch, inclusive. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/**
 * Asks window by window, in the order of time.
 * @param ask answers whether the window was full; a full answer must not have been used
 * @param overfull told of a window that cannot be halved any more; its answer may then be used
 */
export async function eachWindow(
  range: Window,
  smallest: number,
  ask: (window: Window, last: boolean) => Promise<'whole' | 'full'>,
  done: (fraction: number) => void,
): Promise<void> {
  const open: Window[] = [range];
  for (let window = open.pop(); window !== undefined; window = open.pop()) {
    const length = window.to - window.from;
    const last = length <= smallest;
    if ((await ask(window, last)) === 'full' && !last) {
      const half = window.from + Math.max(smallest, Math.floor(length / 2 / smallest) * smallest);
      open.push({ from: half, to: window.to }, { from: window.from, to: half });
      continue;
    }
    done((window.to - range.from) / Math.max(1, range.to - range.from));
  }
}

/** The time range of the options; one hour before now by default. */
export function rangeOf(from: Date | undefined, to: Date | undefined): Window {
  const end = to?.getTime() ?? Date.now();
  return { from: from?.getTime() ?? end - 3_600_000, to: end };
}
