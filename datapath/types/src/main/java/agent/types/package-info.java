/**
 * Defines the values that all domain modules share: IP addresses, prefixes, MAC addresses and
 * refusals of requests.
 */
package agent.types;
