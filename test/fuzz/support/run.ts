/** How many inputs, and from which seed. The same seed makes the same inputs. */
export const SEED: number = number('WAYBILL_FUZZ_SEED', 20_261_201);

/** @param usual how many inputs without `WAYBILL_FUZZ_INPUTS` */
export function inputCount(usual: number): number {
  return number('WAYBILL_FUZZ_INPUTS', usual);
}

function number(name: string, usual: number): number {
  const given = process.env[name];
  if (given === undefined || given === '') return usual;
  const value = Number(given);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} is no number: ${given}`);
  return value;
}
