import { inlineProjection } from './inline-projection.js';

/** The latest consent of each person. */
export const consentProjection = inlineProjection('consent', [
  'visitor.visited.v1',
  'visitor.identified.v1',
  'visitor.consent_changed.v1',
]);
