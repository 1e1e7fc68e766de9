import { signature } from './webhook-signature.js';

describe('signature', () => {
  it('matches the Standard Webhooks reference', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const signed = signature(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}');
    expect(signed).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('uses the bytes of a secret without the prefix as the key', () => {
    // printf 'msg_1.1.{}' | openssl dgst -sha256 -hmac 'plain secret' -binary | base64
    expect(signature('plain secret', 'msg_1', 1, '{}')).toBe('v1,QlEPLNCmlEbvumVaNTruhm8m1xVRJMjSUX/J9lCKfPQ=');
  });
});
