package agent.endpoint.request;

import agent.endpoint.state.EndpointAddressing;
import agent.ipam.AddressFamily;
import agent.ipam.Ipam;
import agent.ipam.Ipam.AddressAllocation;
import agent.ipam.Ipam.AllocatedAddress;
import agent.ipam.Lease;
import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Claims the addresses of a new endpoint, all of them or none. */
public final class AddressClaims {
  private static final String FIELD = "addressing.";

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
   * Claims addresses for an endpoint: adopts existing leases and allocates addresses without a
   * lease. Where the request names no address, allocates one of each enabled family.
   *
   * @param endpointId the endpoint
   * @param named the result of {@link #read}
   * @return the addresses with their pools
   * @throws Refusal INVALID, CONFLICT or EXHAUSTED; then nothing is claimed
   */
  public EndpointAddressing claim(int endpointId, EndpointAddressing named) {
    final List<Lease> adopted = adoptable(named);
    try {
      if (named.ipv4() == null && named.ipv6() == null) {
        return allocated(endpointId, named);
      }
      final AllocatedAddress ipv4 =
          claim(
              endpointId,
              FIELD + "ipv4",
              named.ipv4(),
              named.ipv4ExpirationUuid(),
              named.ipv4PoolName());
      final AllocatedAddress ipv6 =
          claim(
              endpointId,
              FIELD + "ipv6",
              named.ipv6(),
              named.ipv6ExpirationUuid(),
              named.ipv6PoolName());
      return claimed(named, ipv4, ipv6);
    } catch (RuntimeException failure) {
      undo(endpointId, adopted);
      throw withoutDisabledKind(failure);
    }
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
    final AddressAllocation allocation =
        ipam.allocate(AddressFamily.BOTH, "endpoint " + endpointId, pool, false);
    final AllocatedAddress ipv4 = allocation.ipv4().orElse(null);
    final AllocatedAddress ipv6 = allocation.ipv6().orElse(null);
    for (final AllocatedAddress address : new AllocatedAddress[] {ipv4, ipv6}) {
      if (address != null) {
        ipam.claim("addressing", address.address(), endpointId, null, null);
      }
    }
    return claimed(named, ipv4, ipv6);
  }

  private AllocatedAddress claim(
      int endpointId, String field, IpAddress address, String expirationUuid, String pool) {
    return address == null ? null : ipam.claim(field, address, endpointId, expirationUuid, pool);
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

  /** Undoes a claim. Adopted leases return to their owners, without an expiration timer. */
  public void undo(int endpointId, List<Lease> adopted) {
    ipam.releaseEndpoint(endpointId);
    for (final Lease lease : adopted) {
      if (ipam.find(lease.address()).isEmpty()) {
        ipam.allocateAddress("addressing", lease.address(), lease.owner(), lease.pool());
      }
    }
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
