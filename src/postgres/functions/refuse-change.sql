CREATE OR REPLACE FUNCTION cc.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The event log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
    USING HINT = 'Append an event that corrects the earlier one. Personal parts are erased with "visitors erase".';
END $$;
