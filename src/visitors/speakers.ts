/** Makers of consent statements that are not single visitors, in hex. `cc.consent` has one row of each for a person. */
export const OPERATOR = '00';
/** Visitors that no later call can prove to be. They share one row, which holds their last denial. */
export const UNRECOGNISED = '01';
