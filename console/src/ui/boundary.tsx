// An error in the code of a page ends that page, not the console.

import { Component, type ComponentChildren } from "preact";
import { Button, Page } from "./kit";

interface Props {
  /** The address of the page. Another address is tried anew. */
  address: string;
  children: ComponentChildren;
}

export class Boundary extends Component<Props, { failed?: { address: string; message: string } }> {
  componentDidCatch(error: unknown) {
    console.error(error);
    this.setState({
      failed: { address: this.props.address, message: error instanceof Error ? error.message : String(error) },
    });
  }

  render({ address, children }: Props) {
    const { failed } = this.state;
    if (failed?.address !== address) return children;
    return (
      <Page title="This page cannot be shown">
        <div class="state error" role="alert">
          <p>The console made a mistake here: {failed.message}</p>
          <Button onClick={() => this.setState({ failed: undefined })}>Try again</Button>
        </div>
      </Page>
    );
  }
}
