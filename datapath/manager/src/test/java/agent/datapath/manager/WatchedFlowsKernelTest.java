package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapFlag;
import agent.datapath.spec.AddressUse;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapCatalog;
import agent.maps.kernel.MapDefinitions;
import agent.maps.kernel.WatchedAddressMap;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What rounds find, and what is in the map of the kernel meanwhile. */
@KernelTest
class WatchedFlowsKernelTest implements AddressUse {
  private static final int CAPACITY = 4;

  private BpfMap map;
  private WatchedFlows flows;
  private final List<Set<IpAddress>> reported = new ArrayList<>();
  private Set<IpAddress> asked = Set.of();
  private boolean isPressing;

  @Override
  public boolean isPressing() {
    return isPressing;
  }

  @Override
  public Set<IpAddress> asked() {
    return asked;
  }

  @Override
  public void found(Set<IpAddress> inUse) {
    reported.add(inUse);
  }

  @BeforeEach
  void create() {
    LibBpf.ensureLoaded();
    map =
        BpfMap.create(
            MapDefinitions.of("conntrack_gc")
                .get(MapCatalog.WATCHED_ADDRESSES)
                .withMaxEntries(CAPACITY),
            "");
    new WatchedAddressMap(map).add(7, 7); // of a former run
    flows = new WatchedFlows(new WatchedAddressMap(map));
    assertEquals(0, map.countEntries());
  }

  @AfterEach
  void close() {
    map.close();
  }

  private static Set<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).collect(Collectors.toSet());
  }

  /** As the program of the sweeps does. */
  private void count(String address) {
    final byte[] bytes = IpAddress.parse(address).toBytes();
    final EntryBuffer entry = new EntryBuffer(map);
    if (bytes.length == 4) {
      entry.key().putShort(10, (short) -1);
    }
    entry.key().putBytes(16 - bytes.length, bytes);
    entry.value().putInt(0, 2);
    assertEquals(0, map.update(entry, MapFlag.EXIST), address + " is watched");
  }

  @Test
  void shouldTellTheAddressesThatARoundHasFound() {
    assertFalse(flows.onRoundStart());
    flows.onRoundEnd(true);
    flows.ask(this);
    assertFalse(flows.onRoundStart());
    flows.onRoundEnd(true);
    asked = addresses("192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2");
    assertTrue(flows.onRoundStart());
    count("192.0.2.2");
    count("2001:db8::1");
    assertEquals(List.of(), reported);
    flows.onRoundEnd(true);
    assertEquals(List.of(addresses("192.0.2.2", "2001:db8::1")), reported);
    assertEquals(0, map.countEntries());
    asked = addresses("192.0.2.2");
    assertTrue(flows.onRoundStart());
    flows.onRoundEnd(true);
    assertEquals(List.of(addresses("192.0.2.2", "2001:db8::1"), Set.of()), reported);
    assertFalse(flows.isPressing());
    isPressing = true;
    assertTrue(flows.isPressing());
  }

  @Test
  void shouldTellNothingOfARoundThatFailed() {
    flows.ask(this);
    asked = addresses("192.0.2.1");
    assertTrue(flows.onRoundStart());
    flows.onRoundEnd(false);
    assertEquals(List.of(), reported);
    assertEquals(0, map.countEntries());
  }

  @Test
  void shouldAskAgainAfterTheKernelRefused() {
    flows.ask(this);
    asked = addresses("::1", "::2", "::3", "::4", "::5", "::6", "::7");
    assertFalse(flows.onRoundStart());
    flows.onRoundEnd(true);
    asked = addresses("192.0.2.1");
    assertTrue(flows.onRoundStart());
    assertEquals(1, map.countEntries());
    new WatchedAddressMap(map).clear(); // by another process
    flows.onRoundEnd(true);
    assertEquals(List.of(), reported);
    assertTrue(flows.onRoundStart());
    flows.onRoundEnd(true);
    assertEquals(List.of(Set.of()), reported);
  }
}
