import type { BodyReading, ReadResult } from '../inbound-field.js';

/** What is wrong with parts of a field, whose other parts are used. */
export class PartProblems {
  private readonly texts: string[] = [];

  constructor(private readonly reading: Pick<BodyReading, 'isStrict'>) {}

  /** Returns whether the field is refused as a whole, as on a site with strict fields. */
  add(problem: string, effect = 'dropped'): boolean {
    this.texts.push(this.reading.isStrict ? problem : `${problem}: ${effect}`);
    return this.reading.isStrict;
  }

  result(): ReadResult {
    if (this.texts.length === 0) return undefined;
    return this.reading.isStrict ? this.texts[0] : this.texts;
  }
}
