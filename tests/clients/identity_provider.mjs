// An OpenID Connect provider for the tests: the certified implementation `oidc-provider`, with a client that gets signed
// access tokens for the platform, and those with which people log in to the console and to the commands.
//
//   node identity_provider.mjs PORT [ADDRESS OF THE PLATFORM]
import Provider from 'oidc-provider';

const AUDIENCE = 'https://platform.example.com';
const [port, platform = 'http://127.0.0.1'] = process.argv.slice(2);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'backoffice',
      client_secret: 'backoffice-secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: 'console',
      client_secret: 'console-secret',
      redirect_uris: [`${platform}/console/sso/callback`],
      post_logout_redirect_uris: [`${platform}/`],
      backchannel_logout_uri: `${platform}/console/sso/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
    {
      client_id: 'commands',
      token_endpoint_auth_method: 'none',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    backchannelLogout: { enabled: true },
    deviceFlow: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => [],
      getResourceServerInfo: () => ({ audience: AUDIENCE, accessTokenFormat: 'jwt', scope: '' }),
    },
  },
  // Many providers put the claims into the ID token, which the standard allows.
  conformIdTokenClaims: false,
  claims: { openid: ['sub', 'groups'], profile: ['given_name'], email: ['email'] },
  findAccount: (context, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, groups: ['operators'], given_name: 'Mia', email: `${accountId}@example.com` }),
  }),
  extraTokenClaims: (context, token) => ({ preferred_username: token.clientId, groups: ['operators'] }),
});
provider.listen(Number(port), '127.0.0.1');
