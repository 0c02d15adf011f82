// The entry point. It shows the log-in page, or the shell with the navigation and the page of the address.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { resume } from "./api";
import { close, connect, forget } from "./live";
import { LogIn } from "./pages/login";
import { kept, keep, session } from "./session";
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
  if (session.value) connect();
  else {
    close();
    forget();
  }
});

const token = kept();
if (token) await resume(token).catch(() => keep(null));
render(<App />, document.getElementById("app")!);
