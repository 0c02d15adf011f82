// The entry point. It shows the log-in page, or the shell with the navigation and the page of the address.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { close, connect, forget } from "./live";
import { resume } from "./log_in";
import { LogIn } from "./pages/login";
import { loggedOutBecause, refusalOfPage, session, token, tokenOfPage } from "./session";
import { Shell } from "./shell";
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

// A page that the browser kept when its user went to another site may be logged out by now.
addEventListener("pageshow", (event) => event.persisted && location.reload());

loggedOutBecause.value = refusalOfPage();
const kept = tokenOfPage();
if (kept) await resume(kept).catch(() => undefined);
render(<App />, document.getElementById("app")!);
