// Leaves patchReport() of this process in the folder that the matrix names; also where the SDK ends its server by
// SIGTERM, which the bootstrap file passes on after its flush.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patchReport } from '@waybill/instrumentation-mcp';

const leave = () =>
  writeFileSync(
    join(process.env.MATRIX_REPORTS, `${process.argv[2] ?? 'client'}.json`),
    JSON.stringify(patchReport()),
  );
process.on('exit', leave);
process.once('SIGTERM', leave);
