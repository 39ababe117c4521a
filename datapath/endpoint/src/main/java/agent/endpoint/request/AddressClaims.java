package agent.endpoint.request;

import agent.endpoint.state.EndpointAddressing;
import agent.ipam.Ipam;
import agent.ipam.Ipam.AddressAllocation;
import agent.ipam.Ipam.AllocatedAddress;
import agent.ipam.Ipam.Change;
import agent.ipam.Lease;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Claims the addresses of a new endpoint, all of them or none. */
public final class AddressClaims {
  private static final String FIELD = "addressing.";
  private static final String TIMER = "-expiration-uuid";

  private final Ipam ipam;

  /** Creates claims on the addresses of an allocator. */
  public AddressClaims(Ipam ipam) {
    this.ipam = ipam;
  }

  /**
   * Reads the addresses that a request names.
   *
   * @param asked the address record of the request, or null
   * @return the addresses; null for each address that the record does not name
   * @throws Refusal INVALID with the field
   */
  public static EndpointAddressing read(AddressingRequest asked) {
    final AddressingRequest named = asked == null ? AddressingRequest.NONE : asked;
    return new EndpointAddressing(
        address(FIELD + "ipv4", named.ipv4(), true),
        absent(named.ipv4ExpirationUuid()),
        absent(named.ipv4PoolName()),
        address(FIELD + "ipv6", named.ipv6(), false),
        absent(named.ipv6ExpirationUuid()),
        absent(named.ipv6PoolName()));
  }

  private static String absent(String value) {
    return value == null || value.isEmpty() ? null : value;
  }

  private static IpAddress address(String field, String text, boolean ipv4) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    final IpAddress address = IpAddress.parse(field, text);
    if (address.isIpv4() != ipv4) {
      throw Refusal.invalid(
          field, "'" + text + "' is not an " + (ipv4 ? "IPv4" : "IPv6") + " address");
    }
    return address;
  }

  /**
   * Checks the addresses that a request to change an endpoint names.
   *
   * @throws Refusal INVALID where one is not that of the endpoint
   */
  static void checkSame(EndpointAddressing before, EndpointAddressing named) {
    same("ipv4", before.ipv4(), named.ipv4());
    same("ipv6", before.ipv6(), named.ipv6());
    same("ipv4-pool-name", before.ipv4PoolName(), named.ipv4PoolName());
    same("ipv6-pool-name", before.ipv6PoolName(), named.ipv6PoolName());
    same("ipv4" + TIMER, before.ipv4ExpirationUuid(), named.ipv4ExpirationUuid());
    same("ipv6" + TIMER, before.ipv6ExpirationUuid(), named.ipv6ExpirationUuid());
  }

  private static void same(String field, Object before, Object named) {
    if (named != null && !named.equals(before)) {
      throw Refusal.invalid(
          FIELD + field,
          before == null ? "cannot be added after creation" : "cannot be changed from " + before);
    }
  }

  /**
   * Chooses the addresses of an endpoint: checks those that the request names, and claims none of
   * them yet; where it names no address, allocates and claims one of each enabled family.
   *
   * @param endpointId the endpoint
   * @param named the result of {@link #read}
   * @return the addresses with their pools, and when what is claimed is stored
   * @throws Refusal INVALID, CONFLICT or EXHAUSTED; then nothing is claimed
   */
  public Change<EndpointAddressing> choose(int endpointId, EndpointAddressing named) {
    return ipam.change(() -> chosen(endpointId, named));
  }

  private EndpointAddressing chosen(int endpointId, EndpointAddressing named) {
    try {
      if (named.ipv4() == null && named.ipv6() == null) {
        checkTimers(named);
        return allocated(endpointId, named);
      }
      final AllocatedAddress ipv4 = each(ipam::checkClaim, endpointId, named, true);
      final AllocatedAddress ipv6 = each(ipam::checkClaim, endpointId, named, false);
      checkTimers(named);
      return claimed(named, ipv4, ipv6);
    } catch (RuntimeException failure) {
      throw withoutDisabledKind(failure);
    }
  }

  /**
   * Claims the chosen addresses: adopts existing leases and allocates addresses without a lease.
   * Called when the record of the endpoint is stored: the next run of the agent claims what this
   * one does not, and a lease never passes to an endpoint that is not stored.
   *
   * @return completes when the claims are stored
   * @throws Refusal as {@link #choose}; then {@link #undo} is called
   */
  public CompletableFuture<Void> claim(int endpointId, EndpointAddressing chosen) {
    return ipam.change(
            () -> {
              each(ipam::claim, endpointId, chosen, true);
              return each(ipam::claim, endpointId, chosen, false);
            })
        .stored();
  }

  /**
   * Refuses expiration timers of addresses that have no lease; {@link Ipam} checks the others.
   *
   * @throws Refusal INVALID with the field of the timer
   */
  void checkTimers(EndpointAddressing named) {
    checkTimer("ipv4" + TIMER, named.ipv4(), named.ipv4ExpirationUuid());
    checkTimer("ipv6" + TIMER, named.ipv6(), named.ipv6ExpirationUuid());
  }

  private void checkTimer(String field, IpAddress address, String uuid) {
    if (uuid != null && (address == null || ipam.find(address).isEmpty())) {
      throw Refusal.invalid(
          FIELD + field,
          address == null
              ? "'" + uuid + "' is given without the address of its lease"
              : address + " has no lease with expiration timer '" + uuid + "'");
    }
  }

  /** {@link Ipam#claim} or {@link Ipam#checkClaim}. */
  private interface Claim {
    AllocatedAddress of(
        String field, IpAddress address, int endpointId, String expirationUuid, String pool);
  }

  private static AllocatedAddress each(
      Claim claim, int endpointId, EndpointAddressing named, boolean ipv4) {
    if (ipv4) {
      return named.ipv4() == null
          ? null
          : claim.of(
              FIELD + "ipv4",
              named.ipv4(),
              endpointId,
              named.ipv4ExpirationUuid(),
              named.ipv4PoolName());
    }
    return named.ipv6() == null
        ? null
        : claim.of(
            FIELD + "ipv6",
            named.ipv6(),
            endpointId,
            named.ipv6ExpirationUuid(),
            named.ipv6PoolName());
  }

  /** Returns the leases of these addresses that no endpoint has claimed. */
  public List<Lease> adoptable(EndpointAddressing named) {
    return Stream.of(named.ipv4(), named.ipv6())
        .filter(Objects::nonNull)
        .flatMap(address -> ipam.find(address).stream())
        .filter(lease -> lease.endpointId() == 0)
        .toList();
  }

  private EndpointAddressing allocated(int endpointId, EndpointAddressing named) {
    final String pool = named.ipv4PoolName() == null ? named.ipv6PoolName() : named.ipv4PoolName();
    final AddressAllocation allocation = ipam.allocateFor(endpointId, pool);
    return claimed(named, allocation.ipv4().orElse(null), allocation.ipv6().orElse(null));
  }

  private static EndpointAddressing claimed(
      EndpointAddressing named, AllocatedAddress ipv4, AllocatedAddress ipv6) {
    return new EndpointAddressing(
        ipv4 == null ? null : ipv4.address(),
        named.ipv4ExpirationUuid(),
        ipv4 == null ? null : ipv4.pool(),
        ipv6 == null ? null : ipv6.address(),
        named.ipv6ExpirationUuid(),
        ipv6 == null ? null : ipv6.pool());
  }

  /** Undoes a claim. Adopted leases return to their owners as they were. */
  public void undo(int endpointId, List<Lease> adopted) {
    ipam.undoClaims(endpointId, adopted);
  }

  /**
   * Converts DISABLED into INVALID: this request has no status code for a disabled family; POST
   * /ipam has one.
   */
  private static RuntimeException withoutDisabledKind(RuntimeException failure) {
    return failure instanceof Refusal refusal && refusal.kind() == Refusal.Kind.DISABLED
        ? Refusal.invalid(refusal.field(), refusal.reason())
        : failure;
  }
}
