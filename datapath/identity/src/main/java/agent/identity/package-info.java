/**
 * Maps label sets and CIDRs to numeric security identities: labels, filters, patterns and the
 * asynchronous allocators.
 */
package agent.identity;
