CREATE OR REPLACE FUNCTION cc.write_inline(notes json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM cc.note_identifiers(notes);
  PERFORM cc.note_consent(notes);
END $$;
