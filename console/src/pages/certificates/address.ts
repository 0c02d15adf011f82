// The addresses of the authorities of the tenant.

import { path } from "../../api";
import type { TrustedCertificate } from "../../reference";
import { session } from "../../session";

export const addressOfAuthorities = () => path`/tenant/tenants/${session.value!.tenant}/trusted-certificates`;
export const addressOf = ({ fingerprint }: TrustedCertificate) => addressOfAuthorities() + path`/${fingerprint}`;
/** The address of what proves that the tenant has the private key of an authority. */
export const addressOfProof = ({ fingerprint }: TrustedCertificate) =>
  path`/tenant/tenants/${session.value!.tenant}/trusted-certificates-pop/${fingerprint}`;
