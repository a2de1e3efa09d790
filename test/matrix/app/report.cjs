// Leaves patchReport() of this process in the folder that the matrix names; also where the SDK ends its server by
// SIGTERM, which the bootstrap file passes on after its flush.
const { writeFileSync } = require('node:fs');
const path = require('node:path');
const { patchReport } = require('@waybill/instrumentation-mcp');

const leave = () =>
  writeFileSync(
    path.join(process.env.MATRIX_REPORTS, `${process.argv[2] ?? 'client'}.json`),
    JSON.stringify(patchReport()),
  );
process.on('exit', leave);
process.once('SIGTERM', leave);
