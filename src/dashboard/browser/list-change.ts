/** What is to be added to a list, and what is to be removed from it. */
export interface ListChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export const NO_CHANGE: ListChange = { add: [], remove: [] };

/** The change with one more entry added or removed. Adding what was removed, or the reverse, undoes it. */
export function withEntry(
  values: readonly string[],
  { add, remove }: ListChange,
  entry: { readonly add: string } | { readonly remove: string },
): ListChange {
  if ('remove' in entry) {
    const isNew = add.includes(entry.remove);
    return isNew ? { add: without(add, entry.remove), remove } : { add, remove: [...remove, entry.remove] };
  }
  if (remove.includes(entry.add)) return { add, remove: without(remove, entry.add) };
  const isKnown = values.includes(entry.add) || add.includes(entry.add);
  return isKnown ? { add, remove } : { add: [...add, entry.add], remove };
}

/** The list after the change. */
export function changedList(values: readonly string[], { add, remove }: ListChange): string[] {
  return [...values.filter((value) => !remove.includes(value)), ...add];
}

export function isChange({ add, remove }: ListChange): boolean {
  return add.length + remove.length > 0;
}

function without(entries: readonly string[], removed: string): string[] {
  return entries.filter((entry) => entry !== removed);
}
