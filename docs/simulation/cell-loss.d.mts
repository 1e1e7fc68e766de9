export interface Settings {
  readonly seed: number;
  readonly rate: number;
  readonly cells: number;
  readonly seconds: number;
  readonly lossAt: number;
  readonly lossSeconds: number;
  readonly rowMicros: number;
  readonly backOff: 'fixed' | 'doubling';
  readonly attemptsMax: number;
  readonly weight: number;
}

export interface Totals {
  readonly requests: number;
  readonly accepted: number;
  readonly givenUp: number;
  readonly attempts: number;
  readonly unavailable: number;
  readonly queueMax: number;
  readonly slowest: number;
}

export interface CellResult extends Totals {
  readonly recoveredAfter: number;
  readonly pendingMax: number;
  readonly seconds: readonly { readonly accepted: number }[];
}

export function simulate(options?: Partial<Settings>): { lost: CellResult; others?: Totals; all: Totals };
