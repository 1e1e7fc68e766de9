import type { Projection } from '../../src/log/projections/projection.js';

export const counted: Projection;
