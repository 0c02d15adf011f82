// The entry point. It shows the log-in page, or the shell with the navigation and the page of the address.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { resume } from "./api";
import { close, connect, forget } from "./live";
import { LogIn } from "./pages/login";
import { kept, keep, session, token } from "./session";
import { Shell } from "./shell";
import { askOpener, openTabsLoggedIn } from "./tabs";
import { Toasts } from "./ui/kit";
import { Questions } from "./ui/question";

function App() {
  return (
    <>
      {session.value ? <Shell /> : <LogIn />}
      <Questions />
      <Toasts />
    </>
  );
}

effect(() => {
  if (token.value) connect();
  else {
    close();
    forget();
  }
});

// A page that the browser kept when its user went to another site would be logged in after "back".
addEventListener("pageshow", (event) => event.persisted && location.reload());

openTabsLoggedIn();
const given = await askOpener();
if (given?.isKept) keep(given.token);
const stored = given?.token ?? kept();
if (stored) await resume(stored).catch(() => keep(null));
render(<App />, document.getElementById("app")!);
