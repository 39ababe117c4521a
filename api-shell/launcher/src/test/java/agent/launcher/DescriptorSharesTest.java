package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.HealthBoard;
import agent.dns.proxy.DnsProxyContext.Limits;
import agent.l7proxy.HttpProxyContext;
import agent.node.DeviceSelection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who has how many of the descriptors of the process. */
class DescriptorSharesTest {
  /** What is left is for maps, links, programs, endpoints and state. */
  @ParameterizedTest
  @CsvSource({
    "256, 64, 64, 96",
    "1024, 256, 256, 384",
    "8192, 2048, 2048, 3072",
    "16384, 2048, 8192, 4096",
    "20000, 2500, 10904, 4096",
    "65536, 8192, 47104, 4096",
    "131072, 16384, 49152, 59392"
  })
  void shouldDivideThem(long limit, int api, int http, int others) {
    final DescriptorShares shares = DescriptorShares.of(limit);
    assertEquals(api, shares.api());
    assertEquals(http, shares.http());
    assertEquals(Limits.within(limit), shares.dns());
    assertEquals(others, others(limit, shares));
  }

  private static long others(long limit, DescriptorShares shares) {
    final int dns = shares.dns().sockets() + 2 * shares.dns().connections();
    return limit - shares.api() - dns - shares.http();
  }

  @Test
  void shouldLeaveWhatEndpointsNeedAndGiveMoreOfMore() {
    DescriptorShares before = DescriptorShares.of(255);
    for (long limit = 256; limit < 200_000; limit++) {
      final DescriptorShares shares = DescriptorShares.of(limit);
      assertTrue(others(limit, shares) >= Math.min(limit / 8 * 3, 4_096), shares::toString);
      assertTrue(shares.api() >= before.api(), shares::toString);
      assertTrue(shares.http() >= before.http() - 8, shares::toString); // by rounding
      before = shares;
    }
    final DescriptorShares most = DescriptorShares.of(Long.MAX_VALUE);
    assertEquals(16_384, most.api());
    assertEquals(HttpProxyContext.MOST_DESCRIPTORS, most.http());
    assertEquals(Limits.DEFAULT, most.dns());
  }

  /** With what a run accepts, the next one starts; where the sentence is of one, it is of both. */
  @ParameterizedTest
  @ValueSource(longs = {384, 400, 1024, 4096})
  void shouldHaveTheSameLimitForAStartAndForANewEndpoint(long limit) {
    for (final int devices : new int[] {0, 4, 5, 60, 300}) {
      int accepted = 0;
      while (DescriptorShares.obstacle(limit, accepted + 1, "", () -> devices).isEmpty()) {
        accepted++;
      }
      assertTrue(accepted == 0 || DescriptorShares.least(accepted, devices) <= limit);
      assertTrue(DescriptorShares.least(accepted + 1, devices) > limit);
    }
  }

  @Test
  void shouldCountEndpointsAndDevices() {
    assertEquals(Optional.empty(), DescriptorShares.obstacle(384, 8, "", () -> 4));
    assertEquals(
        "the limit of open files is 384, but the agent needs 501, with 47 endpoints of its state"
            + " (ulimit -n, LimitNOFILE=)",
        DescriptorShares.obstacle(384, 47, " of its state", () -> 1).orElseThrow());
    assertEquals(
        "the limit of open files is 384, but the agent needs 608, with 60 devices"
            + " (ulimit -n, LimitNOFILE=)",
        DescriptorShares.obstacle(384, 0, "", () -> 60).orElseThrow());
    assertEquals(Set.of("lo"), devices("lo", List.of("none"), Set.of()));
    assertEquals(Set.of("lo"), devices("auto", List.of("lo"), Set.of()));
    assertEquals(Set.of(), devices("lo+,!lo", List.of(), Set.of()));
    assertEquals(Set.of("eth0", "lo"), devices("auto", List.of("lo"), Set.of("lo", "eth0")));
  }

  private static Set<String> devices(String selection, List<String> others, Set<String> found) {
    return DescriptorShares.devices(DeviceSelection.parse(selection), others, found);
  }

  @Test
  void shouldBeDegradedWhileItCouldNotStartAgain() {
    final Set<String> devices = new TreeSet<>(Set.of("eth0", "eth1", "eth2", "eth3"));
    final AtomicInteger endpoints = new AtomicInteger(8);
    final DescriptorHealth health = new DescriptorHealth(384, endpoints::get, () -> devices);
    assertEquals(HealthBoard.Reading.ok("the limit of open files is 384"), health.read());
    devices.add("eth4");
    assertEquals(
        HealthBoard.Reading.degraded(
            "a restart of the agent would fail: the limit of open files is 384, but the agent needs"
                + " 388, with 8 endpoints, with 5 devices (ulimit -n, LimitNOFILE=), devices:"
                + " eth0, eth1, eth2, eth3, eth4"),
        health.read());
    devices.remove("eth1");
    endpoints.set(9);
    assertTrue(health.read().message().contains("needs 387, with 9 endpoints"), health::toString);
    endpoints.set(0);
    assertEquals(HealthBoard.Reading.ok("the limit of open files is 384"), health.read());
  }

  /** Where it would be enough for many devices they are not counted, which takes long. */
  @Test
  void shouldCountDevicesOnlyWhereTheirNumberDecides() {
    final int many = 1_024;
    final long enough = DescriptorShares.least(20, many);
    assertEquals(
        Optional.empty(),
        DescriptorShares.obstacle(
            enough,
            20,
            "",
            () -> {
              throw new AssertionError("they are counted");
            }));
    assertTrue(DescriptorShares.obstacle(enough - 1, 20, "", () -> many).isPresent());
  }
}
