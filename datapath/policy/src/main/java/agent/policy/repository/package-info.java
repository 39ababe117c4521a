/** The rules of this node in their order, with their revision, limits and store. */
package agent.policy.repository;
