import { Component, type ComponentChildren } from 'preact';
import { Button } from './basics.js';

/** Shows the error of a page in its place: the navigation around it stays. Give it a key, which a new page changes. */
export class ErrorBoundary extends Component<{ children: ComponentChildren }, { error?: Error }> {
  override state: { error?: Error } = {};

  static override getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div class="problem" role="alert">
        <div>
          <h1>This page cannot be shown</h1>
          <p>
            It has an error: <code>{error.message}</code>. Try again. If it stays, use another page, and report the
            error with the address of this one.
          </p>
        </div>
        <Button label="Try again" onClick={() => this.setState({ error: undefined as never })} />
      </div>
    );
  }
}
