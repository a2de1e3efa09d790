import { createHash } from 'node:crypto';
import { METHOD_TOOLS_CALL } from '@waybill/core';
import { isPlainObject, read, readOwn, readString } from '../../patch/foreign.js';
import type { Connection } from '../connection.js';
import { continuedLeg } from '../ids.js';
import type { ClientLeg } from './leg.js';

/** The method whose answer is the result of a tool that was called as a task (2025-11-25). */
export const METHOD_TASKS_RESULT: string = 'tasks/result';

/** Methods of which the answer is a tool result: they have stages and an outcome. */
export function answersCall(method: string): boolean {
  return method === METHOD_TOOLS_CALL || method === METHOD_TASKS_RESULT;
}

/**
 * The leg that a request goes on from: a further round that the SDK makes (it repeats our call id), one that the
 * application makes (it repeats the server's state or answers its questions), or a poll of the task it was given.
 */
export function precedingLeg(connection: Connection, method: string, params: unknown): ClientLeg | undefined {
  if (method !== METHOD_TOOLS_CALL) {
    const taskId = readString(params, 'taskId');
    return taskId === undefined || !method.startsWith('tasks/') ? undefined : connection.tasks.get(taskId);
  }
  const round = continuedLeg(connection, read(params, '_meta'));
  if (round !== undefined) return round;
  const answers =
    readOwn(params, 'inputResponses') !== undefined || readOwn(params, 'requestState') !== undefined;
  return answers ? connection.awaitingInput.get(roundKey(params, readString(params, 'name'))) : undefined;
}

/** Remembers what a result leaves open: a task to be polled, a question to be answered. */
export function noteOpenEnds(connection: Connection, leg: ClientLeg, result: unknown): void {
  if (!isPlainObject(result) || leg.ids === undefined) return;
  const taskId = readString(result, 'taskId') ?? readString(readOwn(result, 'task'), 'taskId');
  if (leg.info.method === METHOD_TOOLS_CALL && taskId !== undefined) connection.tasks.set(taskId, leg);
  if (result['resultType'] === 'input_required') {
    connection.awaitingInput.set(roundKey(result, leg.info.tool), leg);
  }
}

/** Tool and state of a round. The state is the server's and may be large: only its digest is kept. */
function roundKey(holder: unknown, tool: string | undefined): string {
  const state = readOwn(holder, 'requestState');
  const digest =
    typeof state === 'string' ? createHash('sha256').update(state).digest('base64url') : typeof state;
  return `${tool ?? ''}\n${digest}`;
}
