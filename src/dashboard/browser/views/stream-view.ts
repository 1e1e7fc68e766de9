import type { Tone } from '../format.js';
import type { StreamState } from '../stream/event-stream.js';

/** What a page says about its stream of events. */
export const STREAM_STATES: Readonly<Record<StreamState, readonly [tone: Tone, words: string]>> = {
  connecting: ['wait', 'connecting …'],
  open: ['ok', 'live'],
  lost: ['bad', 'connection lost, trying again'],
  full: ['bad', 'too many live pages are open: close another one'],
};
