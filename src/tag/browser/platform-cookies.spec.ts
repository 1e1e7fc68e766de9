import { TAG_NAMES } from '../../platforms/click-ids.js';
import { parsePlatformCookies } from './platform-cookies.js';

const parse = (text: string) => parsePlatformCookies(text, TAG_NAMES.cookies, TAG_NAMES.clickCookies);

describe('platform cookies', () => {
  it('are converted to the format of the platform’s API', () => {
    const text =
      '_fbp=fb.1.2.3; _fbc=x; _ttp=T%2Bx; _ga=GA1.3-2.11.22; _ga_A=GS1.1.1700000005.1; _ga_B=GS2.1.s1700000001$o1; x=y';
    expect(parse(text)).toEqual({
      cookies: { _fbp: 'fb.1.2.3', _fbc: 'x', _ttp: 'T+x', _ga: '11.22', _ga_session: '1700000005' },
      clicks: {},
    });
  });

  it('yield click ids, with the click time where the cookie contains it', () => {
    const text =
      '_gcl_aw=GCL.1700000000.Cj0.K_x; _fbc=fb.1.1700000000123.IwAR_x.AQ; _uetmsclkid=_uetabc; _scclid=S; _rdt_cid=R; _epik=E; li_fat_id=L; ttclid=T; twclid=X; awc=A';
    expect(parse(text).clicks).toEqual({
      gclid: { id: 'Cj0.K_x', t: 1_700_000_000_000 },
      fbclid: { id: 'IwAR_x', t: 1_700_000_000_123 },
      msclkid: { id: 'abc' },
      sccid: { id: 'S' },
      rdt_cid: { id: 'R' },
      epik: { id: 'E' },
      li_fat_id: { id: 'L' },
      ttclid: { id: 'T' },
      twclid: { id: 'X' },
      awc: { id: 'A' },
    });
  });

  it('are ignored when malformed', () => {
    expect(parse('')).toEqual({ cookies: {}, clicks: {} });
    expect(parse('_ga=x; _ga_X=1.2; _gcl_aw=GCL.1; _fbc=; li_fat_id=a b; =; ;constructor=1')).toEqual({
      cookies: {},
      clicks: {},
    });
  });
});
