/** Who may read from a receiver on the loopback address. */
import { isIP } from 'node:net';

/**
 * False for a name that is not this machine's own. A page in a browser can let its own name point to 127.0.0.1 (DNS
 * rebinding) and would then read the evidence as its own origin; an address in its place cannot be made to point
 * elsewhere. On other addresses names are how the receiver is found, and nothing is refused.
 * @param header the `Host` of the request; without one it is not from a browser
 * @param listening the address that was given to listen on
 */
export function mayRead(header: string | undefined, listening: string): boolean {
  if (header === undefined || !isLoopback(listening)) return true;
  const name = hostOf(header);
  return isIP(name) !== 0 || isLoopback(name) || name.endsWith('.localhost');
}

function hostOf(header: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(header)?.[1];
  return (bracketed ?? header.split(':', 1)[0] ?? '').toLowerCase();
}

function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
