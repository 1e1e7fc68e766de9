import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import { presetsField, presetValue, withPresets } from './presets.js';

const PRESETS = { profit: 'net_revenue', tax: 'order.tax' };

describe('presets', () => {
  it('map the chosen keys of custom to the fields of the platform', () => {
    expect(withPresets({ presets: 'profit, tax' }, PRESETS)).toEqual({
      ...{ presets: 'profit, tax', 'field.net_revenue': 'custom.profit', 'field.order.tax': 'custom.tax' },
    });
    expect(withPresets({ presets: 'coupon' }, PRESETS)).toEqual({ presets: 'coupon' });
  });

  it('do not replace a field that is set', () => {
    const settings = { presets: 'profit', 'field.net_revenue': 'custom.margin' };
    expect(withPresets(settings, PRESETS)).toEqual(settings);
  });

  it('are the same object for the same settings, and the settings themselves without any', () => {
    const [chosen, none] = [{ presets: 'tax' }, {}];
    expect(withPresets(chosen, PRESETS)).toBe(withPresets(chosen, PRESETS));
    expect(withPresets(none, PRESETS)).toBe(none);
  });

  it('have a value only if they are chosen and stated', () => {
    const { custom } = SAMPLE_CONVERSIONS['server-only'];
    const value = (presets: string | undefined, key: string) =>
      presetValue({ ...SAMPLE_CONVERSIONS['hashed-only'], custom }, presets === undefined ? {} : { presets }, key);
    expect([value('coupon', 'coupon'), value('coupon', 'tax'), value(undefined, 'coupon')]).toEqual([
      ...['SPRING', undefined, undefined],
    ]);
    expect([value('toString', 'toString'), presetValue(SAMPLE_CONVERSIONS.yen, { presets: 'tax' }, 'tax')]).toEqual([
      ...[undefined, undefined],
    ]);
  });

  it('are limited to those of the platform', () => {
    const { check } = presetsField(['profit', 'tax']);
    expect([check?.('tax'), check?.('tax,profit'), check?.(' profit , tax ')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    for (const value of ['', 'coupon', 'tax;profit', 'tax,']) expect(check?.(value)).toMatch(/^must be of profit, tax/);
  });
});
