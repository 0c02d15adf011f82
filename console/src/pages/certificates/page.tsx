// The certificate authorities that the tenant trusts, and the certificates of its devices.

import { useList } from "../../list";
import { Revoke, CertificateState, useDeviceCertificates } from "../../parts/device_certificates";
import type { DeviceCertificate, TrustedCertificate } from "../../reference";
import { route } from "../../router";
import { can } from "../../session";
import { Time } from "../../time";
import { TextFilter } from "../../ui/filters";
import { Page } from "../../ui/kit";
import { ListCard } from "../../ui/loaded";
import { type SmallColumn, SmallTable } from "../../ui/small_table";
import { shortOf } from "../../values/certificates";
import { addressOfAuthorities } from "./address";
import { Authorities } from "./authorities";

export function Certificates() {
  const user = route.value.params.get("user") ?? "";
  const authorities = useList<TrustedCertificate>({
    path: addressOfAuthorities(),
    member: "certificates",
    keyOf: (one) => one.fingerprint,
  });
  const certificates = useDeviceCertificates(user);
  // An authority takes what is known about its certificates away with it, and its list revokes some.
  const reload = () => {
    authorities.reload();
    certificates.reload();
  };
  const mayChange = can("ROLE_USER_MANAGEMENT_ADMIN");
  const names = new Map(authorities.data.value?.map((one) => [one.fingerprint, one.name]));
  const columns: SmallColumn<DeviceCertificate>[] = [
    [
      "Device user",
      (one) => (
        <>
          <b>{one.user}</b> <span class="faint">{one.subject}</span>
        </>
      ),
    ],
    ["Serial number", (one) => <code title={`Fingerprint ${one.fingerprint}`}>{one.serialNumber}</code>],
    ["Authority", (one) => names.get(one.authority) ?? <code>{shortOf(one.authority)}</code>],
    ["First used", (one) => <Time at={one.creationTime} />],
    ["Valid until", (one) => <Time at={one.notAfter} />],
    ["State", (one) => <CertificateState of={one} />],
    ["Actions", (one) => mayChange && <Revoke of={one} onChanged={certificates.reload} />, "actions"],
  ];
  return (
    <Page title="Certificates">
      <Authorities of={authorities} mayChange={mayChange} onChanged={reload} />
      <ListCard
        title="Certificates of devices"
        of={certificates}
        noun="certificate"
        actions={<TextFilter label="User of the device" param="user" />}
        empty={
          <p>
            {user
              ? `No certificate of ${user} is known.`
              : "No device has logged in with a certificate, and the platform has issued none."}
          </p>
        }>
        {(list) => (
          <SmallTable
            label="Device certificates"
            columns={columns}
            rows={list}
            rowClass={(one) => (one.revocationTime ? "past" : undefined)}
          />
        )}
      </ListCard>
    </Page>
  );
}
