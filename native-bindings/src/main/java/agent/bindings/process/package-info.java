/** This process and others: rights, priorities, locks, pipes, and sockets by their process. */
package agent.bindings.process;
