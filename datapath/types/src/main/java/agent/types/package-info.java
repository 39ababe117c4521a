/** The values that all domain modules share: addresses, prefixes, MAC addresses and refusals. */
package agent.types;
