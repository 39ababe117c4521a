/** Answers of the agent as tables, JSON, YAML, CSV and the values of a path. */
package agent.cli.output;
