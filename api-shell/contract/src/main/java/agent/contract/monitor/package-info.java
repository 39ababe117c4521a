/** The stream of live events on the socket beside that of the API. */
package agent.contract.monitor;
