/** Resolves the names of rules: the cache of their addresses, and the poller. */
package agent.dns;
