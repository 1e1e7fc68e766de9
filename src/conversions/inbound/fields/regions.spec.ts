import { regionOf } from './regions.js';

describe('regionOf', () => {
  it.each([
    ['California', 'US', 'CA'],
    ['new york', 'US', 'NY'],
    ['District of Columbia', 'US', 'DC'],
    ['Québec', 'CA', 'QC'],
    ['CA', 'US', 'CA'],
    ['ca', 'US', 'ca'],
    ['US-CA', 'US', 'CA'],
    ['de-be', 'DE', 'BE'],
    ['Georgia', 'GE', 'Georgia'],
    ['Île-de-France', 'FR', 'Île-de-France'],
    ['FR-Something', 'FR', 'FR-Something'],
  ])('reads %s in %s as %s', (region, country, expected) => {
    expect(regionOf(region, country)).toBe(expected);
  });
});
