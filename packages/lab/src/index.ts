export { startCuttingProxy } from './cutting-proxy.js';
export type { CutForm, CutPlan, CuttingProxy, CuttingProxyOptions, Direction } from './cutting-proxy.js';
