package agent.ipam;

import agent.types.IpAddress;
import java.time.Instant;
import java.util.Objects;

/**
 * An address that is allocated.
 *
 * @param address the address
 * @param pool the pool it comes from
 * @param owner who asked for it; may be empty
 * @param endpointId the endpoint that uses it, 0 where none does
 * @param expirationUuid the expiration timer, null where none runs
 * @param expiresAt when the timer ends, null where none runs
 */
public record Lease(
    IpAddress address,
    String pool,
    String owner,
    int endpointId,
    String expirationUuid,
    Instant expiresAt) {
  /** Checks that the address, the pool and the owner are there. */
  public Lease {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(pool, "pool");
    Objects.requireNonNull(owner, "owner");
  }

  /** Returns whether a timer runs. */
  public boolean isExpiring() {
    return expiresAt != null;
  }

  /** Returns the holder for messages: the endpoint, or the owner. */
  public String holder() {
    if (endpointId != 0) {
      return "endpoint " + endpointId + (owner.isEmpty() ? "" : " (" + owner + ")");
    }
    return owner.isEmpty() ? "an unnamed owner" : "'" + owner + "'";
  }

  Lease claimedBy(int endpoint) {
    return new Lease(address, pool, owner, endpoint, null, null);
  }
}
