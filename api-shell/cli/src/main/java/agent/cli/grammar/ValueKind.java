package agent.cli.grammar;

/** What the value of an option or argument is, by which the shell completes it. */
public enum ValueKind {
  /** Any text; nothing is offered. */
  TEXT,
  /** A file or a folder; the shell knows them. */
  FILE,
  /** The id of an endpoint. */
  ENDPOINT,
  /** The number of an identity. */
  IDENTITY,
  /** An allocated address. */
  ADDRESS,
  /** A label of an endpoint. */
  LABEL,
  /** The label of a policy rule. */
  RULE_LABEL,
  /** The name of an open map. */
  MAP,
  /** The name of a metric. */
  METRIC,
  /** The number of a service. */
  SERVICE,
  /** A prefix of the prefilter. */
  PREFIX,
  /** An option of the daemon that can be changed. */
  DAEMON_OPTION,
  /** An option of an endpoint that can be changed. */
  ENDPOINT_OPTION,
  /** The name of a command. */
  COMMAND
}
