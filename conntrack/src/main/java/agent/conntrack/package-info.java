/** Connection tracking in user space: the periodic sweep of expired flows and its counters. */
package agent.conntrack;
