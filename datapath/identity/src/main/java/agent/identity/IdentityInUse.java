package agent.identity;

/**
 * An identity that local endpoints have.
 *
 * @param identity the identity
 * @param refCount how many local endpoints have it; greater than 0
 */
public record IdentityInUse(Identity identity, int refCount) {}
