/**
 * What rules refer to: the identities of CIDRs and of the addresses of names, and selectors with
 * the identities that they select.
 */
package agent.policy.reference;
