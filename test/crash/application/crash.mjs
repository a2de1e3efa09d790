// Preload: kills this process with SIGKILL at the very moment at which the stage journal has taken the line of a stage.
//
//   CRASH_AT     name of the stage; unset: the process lives
//   CRASH_TORN   set: only the first half of that line is written before the process dies
//   CRASH_TRUTH  file that is told of every line whose write returned, by a write of its own
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { writeSync } = fs;
const crashAt = process.env.CRASH_AT;
const truth = fs.openSync(process.env.CRASH_TRUTH, 'a');

/** @returns the stage that a chunk for the journal speaks of */
function stageIn(data) {
  const text = Buffer.isBuffer(data) ? data.toString() : String(data);
  return text.includes('"resourceLogs"')
    ? /"eventName":"waybill\.(?<stage>[a-z_.]+)"/u.exec(text)?.groups.stage
    : undefined;
}

function die() {
  process.kill(process.pid, 'SIGKILL');
}

fs.writeSync = (descriptor, data, ...rest) => {
  const stage = stageIn(data);
  if (stage !== undefined && stage === crashAt && process.env.CRASH_TORN !== undefined) {
    writeSync(descriptor, data, 0, Math.floor(data.length / 2));
    die();
  }
  const written = writeSync(descriptor, data, ...rest);
  if (stage !== undefined) {
    writeSync(truth, `${stage}\n`);
    if (stage === crashAt) die();
  }
  return written;
};
syncBuiltinESMExports();
