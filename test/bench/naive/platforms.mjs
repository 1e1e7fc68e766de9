// The simplest way to send to three platforms: one `fetch` each per conversion, and the answer waits for all of them.

const json = { 'content-type': 'application/json' };

/** @returns the results of the receipt; rejects when a platform rejects the conversion */
export async function sendToPlatforms(base, emailHash, conversion) {
  const calls = [
    ['meta', metaCall(emailHash, conversion)],
    ['tiktok', tiktokCall(emailHash, conversion)],
    ['segment', segmentCall(emailHash, conversion)],
  ];
  const results = await Promise.all(
    calls.map(async ([platform, { path, headers, body }]) => {
      const response = await fetch(`${base}/${platform}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${platform} answered ${response.status}: ${text.slice(0, 200)}`);
      return [platform, { ok: true, status: 'delivered' }];
    }),
  );
  return Object.fromEntries(results);
}

function metaCall(emailHash, { orderId, value, currency, firstNameHash, lastNameHash, phoneHash }) {
  return {
    path: '/v26.0/1234567890/events',
    headers: json,
    body: {
      access_token: 'bench-access-token',
      data: [
        {
          event_name: 'Purchase',
          event_time: Math.floor(Date.now() / 1_000),
          event_id: orderId,
          action_source: 'system_generated',
          user_data: { em: [emailHash], ph: [phoneHash], fn: [firstNameHash], ln: [lastNameHash] },
          custom_data: { currency, value, order_id: orderId },
        },
      ],
    },
  };
}

function tiktokCall(emailHash, { orderId, value, currency, firstNameHash, lastNameHash, phoneHash }) {
  return {
    path: '/open_api/v1.3/event/track/',
    headers: { ...json, 'access-token': 'bench-access-token' },
    body: {
      event_source: 'web',
      event_source_id: 'BENCHPIXEL',
      data: [
        {
          event: 'CompletePayment',
          event_time: Math.floor(Date.now() / 1_000),
          event_id: orderId,
          user: { email: emailHash, phone: phoneHash, first_name: firstNameHash, last_name: lastNameHash },
          properties: { value, currency, order_id: orderId },
        },
      ],
    },
  };
}

function segmentCall(emailHash, { orderId, value, currency }) {
  return {
    path: '/v1/track',
    headers: { ...json, authorization: `Basic ${Buffer.from('bench-write-key:').toString('base64')}` },
    body: {
      type: 'track',
      messageId: orderId,
      userId: emailHash,
      event: 'Order Completed',
      timestamp: new Date().toISOString(),
      properties: { order_id: orderId, revenue: value, value, currency },
      context: { library: { name: 'naive', version: '1' } },
    },
  };
}
