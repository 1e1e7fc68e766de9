import { inlineProjection } from './inline-projection.js';

/** Identifier records: the newest click id of each kind, campaign fields, last visit and bot verdict of each person. */
export const identifiersProjection = inlineProjection(
  'identifiers',
  ['visitor.visited.v1', 'visitor.identified.v1', 'visitor.rejudged.v1'],
  { prunedBy: { identifiers: 'at' } },
);
