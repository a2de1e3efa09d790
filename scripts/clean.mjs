// Removes what was built. tsc leaves the output of deleted sources behind, and it would be packed.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
for (const room of ['packages', 'examples']) {
  for (const name of readdirSync(join(root, room))) {
    rmSync(join(root, room, name, 'dist'), { recursive: true, force: true });
    // Without its output the record of an earlier build makes tsc believe that there is nothing to do.
    for (const record of ['tsconfig.tsbuildinfo', 'tsconfig.cjs.tsbuildinfo']) {
      rmSync(join(root, room, name, record), { force: true });
    }
  }
}
