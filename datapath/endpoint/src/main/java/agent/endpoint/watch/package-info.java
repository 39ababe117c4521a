/**
 * Follows the devices, addresses, routes and parameters of the node by events and by periodic
 * comparisons, repairs them, and closes endpoints whose interface is gone.
 */
package agent.endpoint.watch;
