/**
 * One run of a command: its arguments, the agent that it asks, and the options that commands share.
 */
package agent.cli.call;
