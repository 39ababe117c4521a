/** agentctl: the management API on the command line. */
package agent.cli;
