/**
 * Creates, connects and starts the parts of the datapath, and gives callers the proxies to them.
 */
package agent.datapath.manager;
