export const ROW_KEYS_ID = 'row-keys';

/** What a screen reader says about every table: once on a page. */
export function RowKeysHint() {
  return (
    <p id={ROW_KEYS_ID} hidden>
      j and k move between the rows, Enter opens one.
    </p>
  );
}
