/** What was asked of the agent, on disk: checksummed files, replaced atomically. */
package agent.launcher.state;
