export interface Sample {
  readonly rate: number;
  readonly cpuServer: number;
  readonly cpuPostgres?: number;
  readonly errors: number;
}
export function runtimeRows(
  runtimes: readonly { version: string; node: string }[],
  connections: number,
  samples: Readonly<Record<string, readonly (Sample | undefined)[]>>,
): { what: string; value?: { median: number } }[];
