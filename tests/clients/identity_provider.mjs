// An OpenID Connect provider for the tests of bearer tokens: the certified implementation `oidc-provider` with one client,
// which gets signed access tokens for the platform.
//
//   node identity_provider.mjs PORT
import Provider from 'oidc-provider';

const AUDIENCE = 'https://platform.example.com';
const port = Number(process.argv[2]);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: 'backoffice',
      client_secret: 'backoffice-secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ audience: AUDIENCE, accessTokenFormat: 'jwt', scope: '' }),
    },
  },
  extraTokenClaims: (context, token) => ({ preferred_username: token.clientId, groups: ['operators'] }),
});
provider.listen(port, '127.0.0.1');
