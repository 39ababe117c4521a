package agent.node;

import agent.types.Prefix;

/**
 * The stored choice of the node's address ranges, which must not change across restarts because
 * endpoints have addresses in them.
 *
 * @param ipv4Range the range in use, or null
 * @param ipv6Range the range in use, or null
 */
public record NodeRecord(Prefix ipv4Range, Prefix ipv6Range) {}
