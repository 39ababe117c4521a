package agent.cli;

/** How results are shown. */
enum OutputFormat {
  /** As the agent answers. */
  JSON,
  /** For a human eye. */
  TABLE
}
