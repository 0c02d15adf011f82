// Plays a person at the pages of the identity provider of the tests: opens an address and submits each form that the
// provider shows, until a page has none. Its text is printed.
//
//   node person.mjs URL
const MOST_PAGES = 12;
const cookies = new Map();

/** Opens an address with the cookies of this person, and follows redirects. */
async function open(url, form) {
  for (let redirects = 0; redirects < 10; redirects++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const body = form && new URLSearchParams(form);
    const response = await fetch(url, { method: body ? 'POST' : 'GET', body, headers: { cookie }, redirect: 'manual' });
    for (const set of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set);
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (!location) return { url, page: await response.text() };
    [url, form] = [new URL(location, url).href, undefined];
  }
  throw new Error(`${url} redirects without end`);
}

const attribute = (tag, name) => new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1];

let { url, page } = await open(process.argv[2]);
for (let pages = 0; /<form/.test(page); pages++) {
  if (pages === MOST_PAGES) throw new Error(`the forms of ${url} do not end: ${page}`);
  const form = {};
  for (const [tag] of page.matchAll(/<input[^>]*>/g)) form[attribute(tag, 'name')] = attribute(tag, 'value') ?? '';
  if ('login' in form) Object.assign(form, { login: 'mia', password: 'any' });
  const action = attribute(/<form[^>]*>/.exec(page)[0], 'action');
  ({ url, page } = await open(new URL(action, url).href, form));
}
console.log(page.replace(/<style[^]*?<\/style>|<[^>]*>/g, ' ').replace(/\s+/g, ' '));
