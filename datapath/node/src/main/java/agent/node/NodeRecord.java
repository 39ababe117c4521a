package agent.node;

import agent.types.Prefix;

/**
 * What the agent remembers of its node over restarts, so that ranges chosen once stay: endpoints
 * have addresses in them.
 *
 * @param ipv4Range the range in use, or null
 * @param ipv6Range the range in use, or null
 */
public record NodeRecord(Prefix ipv4Range, Prefix ipv6Range) {}
