/** What the driver of the demo and its processes say to each other. Nothing of it is needed outside the demo. */

/** Driver to client: connect to the server if that was not done yet, and make one call. */
export interface CallOrder {
  readonly url: string;
  readonly call?: {
    readonly operationId: string;
    readonly tool: string;
    readonly arguments: Readonly<Record<string, string>>;
    readonly timeoutMs: number;
  };
}

/** Client to driver: what the caller of the SDK was told. */
export type Told =
  | { readonly kind: 'result'; readonly isError: boolean; readonly text: string }
  | { readonly kind: 'error'; readonly name: string; readonly code: string; readonly message: string };

/** Driver to server: how the storage misbehaves at the next change. The disk of `lose_commit` acknowledges and forgets. */
export interface StorageFault {
  readonly kind: 'pause_before_commit' | 'lose_commit';
}

export type ServerOrder =
  { readonly kind: 'fault'; readonly fault: StorageFault | undefined } | { readonly kind: 'go_on' };

export type ServerNews =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'armed' }
  | { readonly kind: 'paused' };
