package agent.ipam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Timers that end between calls, adopted leases, and the edges of prefixes and pools. */
class IpamEdgeTest {
  private static final IpAddress ONLY = IpAddress.parse("10.1.0.2");

  private final LeaseStore store = LeaseStore.inMemory();
  private Instant now = Instant.parse("2026-11-20T06:00:00Z");

  private IpamContext context(String... cidrs) {
    return new IpamContext()
        .pool(new AddressPool("default", Stream.of(cidrs).map(Prefix::parse).toList()))
        .pool(new AddressPool("second", List.of(Prefix.parse("10.2.0.0/30"))))
        .clock(() -> now)
        .store(store);
  }

  private Ipam open(String... cidrs) {
    return Ipam.open(context(cidrs).conclude());
  }

  private static IpAddress allocate(Ipam ipam, boolean expiring) {
    return ipam.allocate(AddressFamily.IPV4, "x", null, expiring).ipv4().orElseThrow().address();
  }

  private static String refused(Refusal.Kind kind, Executable call) {
    final Refusal refusal = assertThrows(Refusal.class, call);
    assertEquals(kind, refusal.kind(), refusal::getMessage);
    return refusal.getMessage();
  }

  /** Each call frees what has expired before it looks. */
  @Test
  void shouldFreeExpiredLeasesBeforeEveryCall() {
    final Map<String, Consumer<Ipam>> calls =
        Map.of(
            "allocate", ipam -> assertEquals(ONLY, allocate(ipam, false)),
            "allocateAddress", ipam -> ipam.allocateAddress("ip", ONLY, "y", null),
            "claim", ipam -> assertEquals("", claimed(ipam).owner()),
            "release",
                ipam -> refused(Refusal.Kind.NOT_FOUND, () -> ipam.release("ip", ONLY, null)));
    calls.forEach(
        (name, call) -> {
          store.save(List.of());
          final Ipam ipam = open("10.1.0.2/32");
          assertEquals(ONLY, allocate(ipam, true));
          now = now.plus(Duration.ofMinutes(10));
          call.accept(ipam);
        });
  }

  private static Lease claimed(Ipam ipam) {
    ipam.claim("a", ONLY, 7, null, null);
    return ipam.find(ONLY).orElseThrow();
  }

  @Test
  void shouldStopTheTimerOfAnAdoptedLeaseForGood() {
    for (final boolean namesTimer : new boolean[] {true, false}) {
      store.save(List.of());
      final Ipam ipam = open("10.1.0.0/24");
      final Ipam.AllocatedAddress given =
          ipam.allocate(AddressFamily.IPV4, "cni", null, true).ipv4().orElseThrow();
      final Ipam.AllocatedAddress adopted =
          ipam.claim("a", given.address(), 7, namesTimer ? given.expirationUuid() : null, null);
      assertEquals(given.address(), adopted.address());
      assertNull(adopted.expirationUuid());
      final Lease lease = ipam.find(given.address()).orElseThrow();
      assertNull(lease.expiresAt());
      assertNull(lease.expirationUuid());
      assertEquals(List.of(lease), store.load(), "it is stopped in the store, too");

      now = now.plus(Duration.ofDays(2));
      assertEquals(0, ipam.expire());
      final Ipam next = open("10.1.0.0/24");
      assertEquals(0, next.expire());
      assertEquals(7, next.find(given.address()).orElseThrow().endpointId());
      final Ipam.AllocatedAddress again = next.claim("a", given.address(), 7, null, null);
      assertEquals(given.address(), again.address());
    }
  }

  @Test
  void shouldRefuseToClaimFromAnotherPool() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress address = allocate(ipam, false);
    assertEquals(
        "a: " + address + " belongs to pool 'default'",
        refused(Refusal.Kind.INVALID, () -> ipam.claim("a", address, 7, null, "second")));
    assertEquals(0, ipam.find(address).orElseThrow().endpointId());
    ipam.claim("a", address, 7, "", "default");
    assertEquals(7, ipam.find(address).orElseThrow().endpointId());
    final IpAddress fresh = IpAddress.parse("10.2.0.1");
    assertEquals("second", ipam.claim("a", fresh, 8, null, "second").pool());
  }

  @Test
  void shouldTakeAnAddressOfThePoolThatIsNamed() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress address = IpAddress.parse("10.2.0.2");
    assertEquals("second", ipam.allocateAddress("ip", address, "x", "second").pool());
    assertEquals("second", ipam.find(address).orElseThrow().pool());
  }

  @Test
  void shouldCountTheLeasesOfThePoolAndFamilyThatIsExhausted() {
    final Ipam ipam = open("10.1.0.0/30", "fd00::/96");
    ipam.allocate(AddressFamily.IPV4, "x", "second", false);
    ipam.allocate(AddressFamily.IPV6, "x", null, false);
    allocate(ipam, false);
    allocate(ipam, false);
    assertEquals(
        "pool: 'default' has no free IPv4 address, 2 in use",
        refused(Refusal.Kind.EXHAUSTED, () -> allocate(ipam, false)));
  }

  @Test
  void shouldTakeTheLongestOwner() {
    final Ipam ipam = open("10.1.0.0/24");
    ipam.allocateAddress("ip", ONLY, "o".repeat(1024), null);
    assertEquals(1024, ipam.find(ONLY).orElseThrow().owner().length());
  }

  @Test
  void shouldListItsPools() {
    assertEquals(
        List.of("default", "second"),
        open("10.1.0.0/24").pools().stream().map(AddressPool::name).toList());
  }

  /** Network and broadcast address of IPv4, subnet-router anycast of IPv6. */
  @ParameterizedTest
  @CsvSource({
    "10.1.0.8/30, 10.1.0.8, 10.1.0.9, 10.1.0.10, 10.1.0.11",
    "fd00::8/126, fd00::8, fd00::9, fd00::b, ''",
    "10.1.0.8/31, '', 10.1.0.8, 10.1.0.9, ''",
    "10.1.0.8/32, '', 10.1.0.8, 10.1.0.8, ''",
    "fd00::8/127, '', fd00::8, fd00::9, ''",
  })
  void shouldGiveNamedAddressesBetweenTheEdgesOnly(
      String cidr, String before, String first, String last, String after) {
    final Ipam ipam = open(cidr);
    for (final String refused : new String[] {before, after}) {
      if (!refused.isEmpty()) {
        assertEquals(
            "ip: " + refused + " is a network or broadcast address",
            refused(
                Refusal.Kind.INVALID,
                () -> ipam.allocateAddress("ip", IpAddress.parse(refused), null, null)));
      }
    }
    for (final String given : List.of(first, last)) {
      ipam.allocateAddress("ip", IpAddress.parse(given), null, null);
      ipam.release("ip", IpAddress.parse(given), null);
    }
    assertTrue(ipam.leases().isEmpty());
  }

  @Test
  void shouldRefuseAContextWithoutADefaultPoolOrWithAGatewayOfTheOtherFamily() {
    final AddressPool other = new AddressPool("other", List.of(Prefix.parse("10.3.0.0/24")));
    refused(Refusal.Kind.INVALID, () -> new IpamContext().pool(other).conclude());
    final IpAddress ipv4 = IpAddress.parse("10.1.0.1");
    refused(Refusal.Kind.INVALID, () -> context("10.1.0.0/24").gateways(null, ipv4).conclude());
    final AddressPool unnamed = new AddressPool("", List.of());
    refused(Refusal.Kind.INVALID, () -> context("10.1.0.0/24").pool(unnamed).conclude());
    for (final Duration none : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      refused(Refusal.Kind.INVALID, () -> context("10.1.0.0/24").expiration(none).conclude());
    }
  }

  @Test
  void shouldExpireAfterTheTimeThatIsSetAndHaveTenMinutesByDefault() {
    final Ipam ipam =
        Ipam.open(context("10.1.0.0/24").expiration(Duration.ofSeconds(5)).conclude());
    allocate(ipam, true);
    now = now.plusSeconds(5);
    assertEquals(1, ipam.expire());
    final Ipam standard = open("10.1.0.0/24");
    final IpAddress address = allocate(standard, true);
    final Lease lease = standard.find(address).orElseThrow();
    assertEquals(now.plusSeconds(600), lease.expiresAt());
    assertEquals(36, lease.expirationUuid().length());
  }

  /** Both are texts of a request that may be absent. */
  @Test
  void shouldTellTheTimerOfAClaimFromItsPool() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress fresh = IpAddress.parse("10.2.0.1");
    assertEquals("second", ipam.checkClaim("a", fresh, 8, "timer", "second").pool());
    assertEquals(
        "a: 10.2.0.1 is outside pool 'default' [10.1.0.0/24]",
        refused(Refusal.Kind.INVALID, () -> ipam.checkClaim("a", fresh, 8, "", "default")));
    ipam.claim("a", fresh, 8, null, "second");
    assertEquals("", ipam.find(fresh).orElseThrow().owner(), "an endpoint has it, and no owner");
    final Ipam.AllocatedAddress given =
        ipam.allocate(AddressFamily.IPV4, "cni", null, true).ipv4().orElseThrow();
    ipam.checkClaim("a", given.address(), 7, given.expirationUuid(), "default");
    assertEquals(
        "a: 'default' is not the expiration timer of " + given.address(),
        refused(
            Refusal.Kind.INVALID, () -> ipam.checkClaim("a", given.address(), 7, "default", null)));
  }
}
