/** Commands that ask the agent or change something, one class a group. */
package agent.cli.command;
