/**
 * Memory for bodies as they are unpacked. A megabyte of gzip may hold a gigabyte: each body alone has its limit, and
 * this bounds all of them together. Who asks for more than is free waits, in the order of asking.
 */
export class Budget {
  /** In bytes. */
  readonly total: number;
  private used = 0;
  private readonly waiting: { readonly bytes: number; readonly go: () => void }[] = [];

  constructor(total: number) {
    this.total = total;
  }

  /** Resolves with the bytes that were taken: those asked for, or everything for who asks for more than there is. */
  async take(bytes: number): Promise<number> {
    const wanted = Math.min(bytes, this.total);
    if (this.waiting.length === 0 && this.used + wanted <= this.total) this.used += wanted;
    else {
      await new Promise<void>((go) => {
        this.waiting.push({ bytes: wanted, go });
      });
    }
    return wanted;
  }

  give(bytes: number): void {
    this.used -= bytes;
    for (;;) {
      const [next] = this.waiting;
      if (next === undefined || this.used + next.bytes > this.total) return;
      this.waiting.shift();
      this.used += next.bytes;
      next.go();
    }
  }
}
