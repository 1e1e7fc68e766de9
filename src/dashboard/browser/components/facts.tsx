import type { ComponentChildren } from 'preact';

export interface FactRow {
  readonly name: string;
  readonly value: ComponentChildren;
  /** A name of the API or of a platform, which stays as it is written. */
  readonly isCode?: boolean | undefined;
}

/** Names and values, a line each. */
export function Facts({ rows, isPadded = false }: { rows: readonly FactRow[]; isPadded?: boolean }) {
  return (
    <dl class={isPadded ? 'facts pad' : 'facts'}>
      {rows.map(({ name, value, isCode }, index) => (
        <div key={`${name} ${index}`}>
          <dt class={isCode ? 'code' : undefined}>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
