/** What the driver of the demo and its processes say to each other. Nothing of it is needed outside the demo. */

/** Driver to client: make one call. */
export interface CallOrder {
  readonly url: string;
  readonly operationId: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Client to driver: what the caller of the SDK was told. */
export type Told =
  | { readonly kind: 'result'; readonly isError: boolean; readonly text: string }
  | { readonly kind: 'error'; readonly name: string; readonly code: string; readonly message: string };

/** Driver to server: how the storage of the next change misbehaves. */
export type StorageFault =
  /** Stop at the named point until told to go on. */
  | { readonly kind: 'pause'; readonly at: PausePoint }
  /** The disk acknowledges the commit and keeps nothing. */
  | { readonly kind: 'lose_commit' };

export type PausePoint = 'before_commit' | 'after_commit';

export type ServerOrder =
  { readonly kind: 'fault'; readonly fault: StorageFault | undefined } | { readonly kind: 'go_on' };

export type ServerNews =
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'armed' }
  | { readonly kind: 'paused'; readonly at: PausePoint };
