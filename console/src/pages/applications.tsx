// Web applications and microservices that are visible to the tenant.

import { get } from "../api";
import { useLoad } from "../load";
import { session } from "../session";
import { Card, Page, States } from "../ui/kit";

interface Application {
  id: string;
  name: string;
  type: string;
  availability: string;
  contextPath?: string;
  activeVersionId?: string;
  owner?: { tenant: { id: string } };
  health?: { status?: string } | string;
}

export function Applications() {
  const applications = useLoad(() => get<{ applications: Application[] }>("/application/applications?pageSize=2000").then((page) => page.applications), []);
  return (
    <Page title="Applications">
      <Card>
        <States of={applications} isEmpty={(list) => list.length === 0} empty={<p>The tenant sees no application.</p>}>
          {(list) => (
            <div class="scroll" tabIndex={0} role="region" aria-label="Applications">
              <table>
                <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">Path</th><th scope="col">Owner</th><th scope="col">Who may use it</th></tr></thead>
                <tbody>
                  {list.map((one) => (
                    <tr key={one.id}>
                      <td><b>{one.name}</b></td>
                      <td>{KINDS[one.type] ?? one.type}</td>
                      <td>{one.type === "HOSTED" && one.activeVersionId ? <a href={`/apps/${one.contextPath}/`} target="_blank" rel="noreferrer">/apps/{one.contextPath}/</a> : <span class="faint">{one.type === "HOSTED" ? "no files uploaded" : one.contextPath && one.type === "MICROSERVICE" ? `/service/${one.contextPath}/` : "–"}</span>}</td>
                      <td>{one.owner?.tenant.id === session.value?.tenant ? "this tenant" : one.owner?.tenant.id}</td>
                      <td>{one.availability === "MARKET" ? "every tenant" : "its owner and subscribers"}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </States>
      </Card>
    </Page>
  );
}

const KINDS: Record<string, string> = { HOSTED: "web application", MICROSERVICE: "microservice", EXTERNAL: "external", APAMA_CEP_RULE: "rule" };
