/**
 * Why a conversion was refused, without any value that was sent: the invalid field, `email_missing` or `event_missing`, a
 * `MalformedBodyKind`, `too_large` or `content_type`. There are some dozen in all, whatever senders do.
 */
export type RejectionReason = string;

/** The reason of a field's error message. */
export function fieldRejection(field: string, error: string): RejectionReason {
  if (!error.endsWith(' required')) return field;
  // A missing email is refused with the message of the field that is checked last.
  return field === 'hashed_email' ? 'email_missing' : `${field}_missing`;
}
