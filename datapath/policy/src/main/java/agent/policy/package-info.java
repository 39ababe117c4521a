/** Rules and selectors, and what they make of them for each endpoint: policy map entries. */
package agent.policy;
