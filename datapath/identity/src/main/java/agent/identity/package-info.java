/** Labels, the security identities derived from them, and the allocator of this node. */
package agent.identity;
