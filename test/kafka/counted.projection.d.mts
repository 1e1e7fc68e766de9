import type { Projection } from '../../src/log/projection.js';

export const counted: Projection;
