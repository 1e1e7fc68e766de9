interface SaveButtonsProps {
  isChanged: boolean;
  isBusy: boolean;
  onUndo(): void;
}

/** Buttons of a form whose changes are saved together. */
export function SaveButtons({ isChanged, isBusy, onUndo }: SaveButtonsProps) {
  return (
    <div class="buttons">
      <button type="button" disabled={!isChanged} onClick={onUndo}>
        Undo
      </button>
      <button type="submit" class="primary" disabled={!isChanged || isBusy}>
        Save
      </button>
    </div>
  );
}
