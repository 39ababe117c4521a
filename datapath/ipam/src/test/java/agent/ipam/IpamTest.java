package agent.ipam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.ipam.Ipam.AddressAllocation;
import agent.ipam.Ipam.AllocatedAddress;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.Refusal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class IpamTest {
  private static final IpAddress GATEWAY4 = IpAddress.parse("10.1.0.1");
  private static final IpAddress GATEWAY6 = IpAddress.parse("fd00::1");

  /** A store whose calls can be made to fail. */
  private static final class Leases implements LeaseStore {
    private final LeaseStore kept = LeaseStore.inMemory();
    final List<List<Lease>> saved = new ArrayList<>();
    boolean fails;

    @Override
    public List<Lease> load() {
      return kept.load();
    }

    @Override
    public void save(List<Lease> leases) {
      if (fails) {
        throw new OperationException("disk full");
      }
      saved.add(leases);
      kept.save(leases);
    }
  }

  private final Leases store = new Leases();
  private Instant now = Instant.parse("2026-11-20T06:00:00Z");
  private int timers;

  private IpamContext context(String... cidrs) {
    return new IpamContext()
        .pool(new AddressPool("default", Prefixes.of(cidrs)))
        .pool(new AddressPool("second", Prefixes.of("10.2.0.0/29")))
        .gateways(GATEWAY4, GATEWAY6)
        .reserve(IpAddress.parse("10.1.0.3"))
        .clock(() -> now)
        .uuids(() -> "timer-" + ++timers)
        .store(store);
  }

  /** Reads lists of prefixes. */
  private static final class Prefixes {
    static List<Prefix> of(String... texts) {
      return List.of(texts).stream().map(Prefix::parse).toList();
    }
  }

  private Ipam open(String... cidrs) {
    return Ipam.open(context(cidrs).conclude());
  }

  private static IpAddress v4(Ipam ipam) {
    return ipam.allocate(AddressFamily.IPV4, "test", null, false).ipv4().orElseThrow().address();
  }

  private static Refusal refused(Refusal.Kind kind, Executable call) {
    final Refusal refusal = assertThrows(Refusal.class, call);
    assertEquals(kind, refusal.kind(), refusal::getMessage);
    return refusal;
  }

  @Test
  void shouldGiveBothFamiliesWithGatewayAndCidrs() {
    final AddressAllocation both =
        open("10.1.0.0/24", "fd00::/96").allocate(AddressFamily.BOTH, "a", "", false);
    assertEquals(
        Optional.of(
            new AllocatedAddress(
                IpAddress.parse("10.1.0.2"),
                "default",
                GATEWAY4,
                Prefixes.of("10.1.0.0/24"),
                null)),
        both.ipv4());
    assertEquals(
        Optional.of(
            new AllocatedAddress(
                IpAddress.parse("fd00::2"), "default", GATEWAY6, Prefixes.of("fd00::/96"), null)),
        both.ipv6());
    assertEquals(2, store.load().size());
  }

  @Test
  void shouldNeverGiveNetworkBroadcastGatewayOrNode() {
    final Ipam ipam = open("10.1.0.0/29");
    final List<String> given = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      given.add(v4(ipam).toString());
    }
    assertEquals(List.of("10.1.0.2", "10.1.0.4", "10.1.0.5", "10.1.0.6"), given);
    final Refusal refusal = refused(Refusal.Kind.EXHAUSTED, () -> v4(ipam));
    assertEquals("pool: 'default' has no free IPv4 address, 4 in use", refusal.getMessage());
    assertEquals(
        "ip: 10.1.0.7 is a network or broadcast address",
        refused(
                Refusal.Kind.INVALID,
                () -> ipam.allocateAddress("ip", IpAddress.parse("10.1.0.7"), "x", null))
            .getMessage());
    assertEquals(
        "ip: 10.1.0.1 is in use by the node",
        refused(Refusal.Kind.CONFLICT, () -> ipam.allocateAddress("ip", GATEWAY4, "x", null))
            .getMessage());
  }

  @Test
  void shouldUseEveryAddressOfTheSmallestPrefixes() {
    assertEquals("10.9.0.7", v4(open("10.9.0.7/32")).toString());
    final Ipam pair = open("10.9.2.6/31");
    assertEquals("10.9.2.6", v4(pair).toString());
    assertEquals("10.9.2.7", v4(pair).toString());
    refused(Refusal.Kind.EXHAUSTED, () -> v4(pair));
  }

  @Test
  void shouldGoOnInTheNextPrefixOfThePool() {
    final Ipam ipam = open("10.9.0.7/32", "10.9.1.7/32");
    assertEquals("10.9.0.7", v4(ipam).toString());
    assertEquals("10.9.1.7", v4(ipam).toString());
  }

  @Test
  void shouldNotGiveTheSameAddressAgainAtOnce() {
    final Ipam ipam = open("10.1.0.0/28");
    final IpAddress first = v4(ipam);
    ipam.release("ip", first, null);
    final List<IpAddress> others = new ArrayList<>();
    for (int i = 0; i < 11; i++) {
      others.add(v4(ipam));
    }
    assertFalse(others.contains(first));
    assertEquals(first, v4(ipam));
    ipam.release("ip", others.get(5), null);
    ipam.release("ip", others.get(2), null);
    assertEquals(others.get(5), v4(ipam));
    assertEquals(others.get(2), v4(ipam));
  }

  @Test
  void shouldNotGiveAnAddressAgainThatWasAskedForByName() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress named = IpAddress.parse("10.1.0.2");
    ipam.allocateAddress("ip", named, "x", null);
    ipam.release("ip", named, null);
    assertNotEquals(named, v4(ipam));
  }

  @Test
  void shouldReuseAddressesOfAHugePrefixAfterARest() {
    final Ipam ipam = Ipam.open(context("fd00::/64").store(LeaseStore.inMemory()).conclude());
    final Set<IpAddress> seen = new HashSet<>();
    for (int i = 0; i < 5 * PrefixCursor.REST; i++) {
      final IpAddress address =
          ipam.allocate(AddressFamily.IPV6, "x", null, false).ipv6().orElseThrow().address();
      seen.add(address);
      ipam.release("ip", address, null);
    }
    assertEquals(PrefixCursor.REST + 1, seen.size());
  }

  @Test
  void shouldNameTheOwnerOfAnAddressInUse() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress address = IpAddress.parse("10.1.0.77");
    assertEquals("default", ipam.allocateAddress("ip", address, "alice", null).pool());
    assertEquals(
        "ip: 10.1.0.77 is in use by 'alice'",
        refused(Refusal.Kind.CONFLICT, () -> ipam.allocateAddress("ip", address, "bob", null))
            .getMessage());
    ipam.claim("addressing.ipv4", address, 7, null, null);
    assertEquals(
        "ip: 10.1.0.77 is in use by endpoint 7 (alice)",
        refused(Refusal.Kind.CONFLICT, () -> ipam.allocateAddress("ip", address, "bob", null))
            .getMessage());
  }

  @Test
  void shouldRefuseAddressesOutsideThePool() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress elsewhere = IpAddress.parse("10.9.0.1");
    assertEquals(
        "addressing.ipv4: 10.9.0.1 is outside every pool",
        refused(Refusal.Kind.INVALID, () -> ipam.claim("addressing.ipv4", elsewhere, 7, null, null))
            .getMessage());
    assertEquals(
        "ip: 10.1.0.9 is outside pool 'second' [10.2.0.0/29]",
        refused(
                Refusal.Kind.INVALID,
                () -> ipam.allocateAddress("ip", IpAddress.parse("10.1.0.9"), "", "second"))
            .getMessage());
    refused(
        Refusal.Kind.INVALID, () -> ipam.allocate(AddressFamily.IPV4, "", "no such pool", false));
    assertEquals(
        "10.2.0.1",
        ipam.allocate(AddressFamily.BOTH, "", "second", false)
            .ipv4()
            .orElseThrow()
            .address()
            .toString());
  }

  @Test
  void shouldRefuseAnOverlongOwner() {
    final Ipam ipam = open("10.1.0.0/24");
    final String owner = "o".repeat(1025);
    for (final Executable call :
        List.<Executable>of(
            () -> ipam.allocate(AddressFamily.IPV4, owner, null, false),
            () -> ipam.allocateAddress("ip", IpAddress.parse("10.1.0.9"), owner, null))) {
      assertEquals(
          "owner: longer than 1024 characters", refused(Refusal.Kind.INVALID, call).getMessage());
    }
    assertEquals(List.of(), ipam.leases());
  }

  @Test
  void shouldRefuseADisabledFamily() {
    final Ipam ipam =
        Ipam.open(context("10.1.0.0/24", "fd00::/96").families(true, false).conclude());
    assertEquals(
        "family: IPv6 is disabled",
        refused(Refusal.Kind.DISABLED, () -> ipam.allocate(AddressFamily.IPV6, "", null, false))
            .getMessage());
    refused(
        Refusal.Kind.DISABLED,
        () -> ipam.allocateAddress("ip", IpAddress.parse("fd00::9"), "", null));
    assertTrue(ipam.allocate(AddressFamily.BOTH, "", null, false).ipv6().isEmpty());
    refused(Refusal.Kind.DISABLED, () -> ipam.allocate(AddressFamily.IPV6, "", "second", false));
  }

  @Test
  void shouldGiveNothingWhereOneFamilyIsExhausted() {
    final Ipam ipam = open("10.1.0.0/24", "fd00::5/128");
    ipam.allocate(AddressFamily.IPV6, "", null, false);
    refused(Refusal.Kind.EXHAUSTED, () -> ipam.allocate(AddressFamily.BOTH, "", null, false));
    assertEquals(1, ipam.leases().size());
    assertEquals(ipam.leases(), store.load());
  }

  @Test
  void shouldExpireALeaseThatNoEndpointClaimsInTenMinutes() {
    final Ipam ipam = open("10.1.0.0/24");
    final AllocatedAddress given =
        ipam.allocate(AddressFamily.IPV4, "x", null, true).ipv4().orElseThrow();
    assertEquals("timer-1", given.expirationUuid());
    now = now.plus(Duration.ofMinutes(10)).minusMillis(1);
    assertEquals(0, ipam.expire());
    assertTrue(ipam.find(given.address()).isPresent());
    now = now.plusMillis(1);
    assertEquals(1, ipam.expire());
    assertTrue(ipam.find(given.address()).isEmpty());
    assertEquals(List.of(), store.load());
  }

  @Test
  void shouldKeepWhatAnEndpointClaimedWithItsTimer() {
    final Ipam ipam = open("10.1.0.0/24");
    final AllocatedAddress given =
        ipam.allocate(AddressFamily.IPV4, "x", null, true).ipv4().orElseThrow();
    refused(Refusal.Kind.INVALID, () -> ipam.claim("a", given.address(), 7, "timer-9", null));
    assertNull(ipam.claim("a", given.address(), 7, "timer-1", null).expirationUuid());
    ipam.claim("a", given.address(), 7, "timer-1", null);
    now = now.plus(Duration.ofDays(1));
    assertEquals(0, ipam.expire());
    refused(Refusal.Kind.CONFLICT, () -> ipam.claim("a", given.address(), 8, null, null));
  }

  @Test
  void shouldGiveOneTimerPerFamilyAndNoneUnlessAsked() {
    final Ipam ipam = open("10.1.0.0/24", "fd00::/96");
    final AddressAllocation both = ipam.allocate(AddressFamily.BOTH, "x", null, true);
    assertEquals("timer-1", both.ipv4().orElseThrow().expirationUuid());
    assertEquals("timer-2", both.ipv6().orElseThrow().expirationUuid());
  }

  @Test
  void shouldFreeTheAddressesOfAnEndpoint() {
    final Ipam ipam = open("10.1.0.0/24", "fd00::/96");
    final IpAddress ipv4 = IpAddress.parse("10.1.0.9");
    final IpAddress ipv6 = IpAddress.parse("fd00::9");
    ipam.claim("a", ipv4, 7, null, null);
    ipam.claim("a", ipv6, 7, null, null);
    assertEquals(
        "ip: 10.1.0.9 is in use by endpoint 7",
        refused(Refusal.Kind.CONFLICT, () -> ipam.release("ip", ipv4, null)).getMessage());
    assertEquals(List.of(ipv4, ipv6), ipam.releaseEndpoint(7));
    assertEquals(List.of(), ipam.releaseEndpoint(7));
    assertEquals(
        "ip: 10.1.0.9 is not allocated",
        refused(Refusal.Kind.NOT_FOUND, () -> ipam.release("ip", ipv4, null)).getMessage());
  }

  /** Many endpoints that are deleted at a time wait for one write, and their callers for none. */
  @Test
  void shouldStoreTheReleasesOfManyEndpointsTogether() {
    final LaterWrites writes = new LaterWrites();
    final Ipam ipam = Ipam.open(context("10.1.0.0/24").storing(writes::add).conclude());
    for (int id = 7; id < 10; id++) {
      ipam.claim("a", IpAddress.parse("10.1.0." + id), id, null, null);
    }
    writes.runAll();
    store.saved.clear();
    for (int id = 7; id < 10; id++) {
      ipam.releaseEndpoint(id);
    }
    assertEquals(List.of(), ipam.leases());
    assertEquals(List.of(), store.saved);
    assertEquals(1, writes.size());
    writes.runNext();
    assertEquals(List.of(List.of()), store.saved);
    ipam.expire();
    assertEquals(0, writes.size(), "nothing is left to store");
  }

  @Test
  void shouldStoreReleasesLaterWhereTheStoreFails() {
    final LaterWrites writes = new LaterWrites();
    final Ipam ipam = Ipam.open(context("10.1.0.0/24").storing(writes::add).conclude());
    ipam.claim("a", IpAddress.parse("10.1.0.7"), 7, null, null);
    writes.runAll();
    store.fails = true;
    ipam.releaseEndpoint(7);
    writes.runNext();
    assertEquals(1, store.kept.load().size());
    store.fails = false;
    ipam.expire();
    writes.runNext();
    assertEquals(List.of(), store.kept.load());
  }

  @Test
  void shouldLookForALeaseInTheNamedPoolOnly() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress address = v4(ipam);
    refused(Refusal.Kind.NOT_FOUND, () -> ipam.release("ip", address, "second"));
    refused(Refusal.Kind.INVALID, () -> ipam.release("ip", address, "third"));
    ipam.release("ip", address, "default");
    assertEquals(List.of(), ipam.leases());
  }

  @Test
  void shouldRestoreItsLeasesAfterARestart() {
    final Ipam before = open("10.1.0.0/24");
    final IpAddress claimed = v4(before);
    before.claim("a", claimed, 7, null, null);
    before.allocate(AddressFamily.IPV4, "x", null, true);
    final Ipam after = open("10.1.0.0/24");
    assertEquals(before.leases(), after.leases());
    assertFalse(List.of(claimed).contains(v4(after)));
    now = now.plus(Duration.ofMinutes(11));
    assertEquals(1, after.expire());
  }

  @Test
  void shouldStoreTheAddressesOfAnEndpointClaimedAndTogether() {
    final Ipam ipam = open("10.1.0.0/24", "fd00::/112");
    ipam.allocateFor(7, null);
    assertEquals(1, store.saved.size());
    assertEquals(2, store.saved.getFirst().size());
    for (final Lease lease : store.saved.getFirst()) {
      assertEquals(7, lease.endpointId());
    }
  }

  @Test
  void shouldCheckAClaimWithoutChange() {
    final Ipam ipam = open("10.1.0.0/24");
    final IpAddress free = IpAddress.parse("10.1.0.77");
    assertEquals("default", ipam.checkClaim("a", free, 7, null, null).pool());
    assertEquals(List.of(), ipam.leases());
    final IpAddress leased = v4(ipam);
    ipam.checkClaim("a", leased, 7, null, null);
    assertEquals(0, ipam.find(leased).orElseThrow().endpointId());
    ipam.claim("a", leased, 7, null, null);
    refused(Refusal.Kind.CONFLICT, () -> ipam.checkClaim("a", leased, 8, null, null));
  }

  @Test
  void shouldChangeNothingWhenTheStoreFails() {
    final Ipam ipam = open("10.1.0.0/30");
    store.fails = true;
    assertThrows(OperationException.class, () -> v4(ipam));
    assertEquals(List.of(), ipam.leases());
    store.fails = false;
    final IpAddress address = v4(ipam);
    store.fails = true;
    assertThrows(OperationException.class, () -> ipam.release("ip", address, null));
    assertThrows(OperationException.class, () -> ipam.claim("ip", address, 7, null, null));
    assertEquals(0, ipam.find(address).orElseThrow().endpointId());
  }

  @Test
  void shouldRefusePoolsThatContradict() {
    refused(Refusal.Kind.INVALID, () -> new IpamContext().conclude());
    refused(Refusal.Kind.INVALID, () -> context("10.2.0.0/24").conclude());
    refused(
        Refusal.Kind.INVALID,
        () -> context("10.1.0.0/24").pool(new AddressPool("second", List.of())).conclude());
    refused(Refusal.Kind.INVALID, () -> context("10.1.0.0/24").gateways(GATEWAY6, null).conclude());
  }

  @Test
  void shouldReadTheFamilyOfARequest() {
    assertEquals(AddressFamily.BOTH, AddressFamily.parse(null));
    assertEquals(AddressFamily.BOTH, AddressFamily.parse(""));
    assertEquals(AddressFamily.IPV4, AddressFamily.parse("ipv4"));
    assertEquals(AddressFamily.IPV6, AddressFamily.parse("ipv6"));
    refused(Refusal.Kind.INVALID, () -> AddressFamily.parse("IPX"));
  }

  @Test
  void shouldNeverGiveAnAddressTwice() {
    final Random random = new Random(3);
    final Ipam ipam = open("10.1.0.0/27", "fd00::/124");
    final List<IpAddress> held = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      if (random.nextInt(5) < 3) {
        try {
          final AddressAllocation given =
              random.nextBoolean()
                  ? ipam.allocate(AddressFamily.IPV4, "", null, false)
                  : ipam.allocate(AddressFamily.IPV6, "", null, false);
          final IpAddress address = given.ipv4().or(given::ipv6).orElseThrow().address();
          assertFalse(held.contains(address));
          assertNotEquals(GATEWAY4, address);
          held.add(address);
        } catch (Refusal refusal) {
          assertEquals(Refusal.Kind.EXHAUSTED, refusal.kind());
          final boolean ipv4 = refusal.getMessage().contains("IPv4");
          assertEquals(ipv4 ? 28 : 14, held.stream().filter(a -> a.isIpv4() == ipv4).count());
        }
      } else if (!held.isEmpty()) {
        ipam.release("ip", held.remove(random.nextInt(held.size())), null);
      }
    }
  }
}
