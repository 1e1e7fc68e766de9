/** Tells with which SECRET_KEY the secrets in a backup are encrypted. */
export const KEY_LABEL = 'backup';
export const KEY_TEXT = Buffer.from('clean-conversions');
