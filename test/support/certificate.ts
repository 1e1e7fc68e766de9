import { generateKeyPairSync, sign } from 'node:crypto';

/** A self-signed certificate for localhost, valid for a day, and its key, both as PEM. */
export function makeCertificate(): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const der = (tag: number, ...parts: Buffer[]): Buffer => {
    const body = Buffer.concat(parts);
    const length = body.length < 0x80 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
    return Buffer.concat([Buffer.from([tag, ...length]), body]);
  };
  const time = (ms: number) => der(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
  const ecdsaWithSha256 = der(0x30, Buffer.from('06082a8648ce3d040302', 'hex'));
  const commonName = Buffer.from('0603550403', 'hex');
  const name = der(0x30, der(0x31, der(0x30, commonName, der(0x0c, Buffer.from('localhost')))));
  const dayMs = 24 * 60 * 60 * 1_000;
  const validity = der(0x30, time(Date.now() - dayMs), time(Date.now() + dayMs));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const serial = der(0x02, Buffer.from([1]));
  const body = der(0x30, serial, ecdsaWithSha256, name, validity, name, spki);
  const whole = der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), sign('sha256', body, privateKey)));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}
