package agent.datapath.manager;

import static agent.datapath.manager.ManagerTestNode.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.programs.load.Shards;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.GenerationArray;
import agent.maps.layout.GenerationLayout;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.testkit.KernelTest;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A program that reads a new generation also reads the entries for which it was raised: otherwise
 * it would keep a verdict of the former entry under the new generation.
 */
@KernelTest
class IpcacheOrderKernelTest {
  private static final int CHANGES = 4096;
  private static final int IDENTITY = 4711;

  private ManagerTestNode node;
  private DatapathManager manager;

  @BeforeEach
  void create() {
    node = new ManagerTestNode();
    manager = node.launch(node.context());
    await(manager.ipcache().read());
  }

  @AfterEach
  void remove() throws IOException {
    manager.close();
    node.close();
  }

  /** The last of many entries, so that the time between the two is long where they are swapped. */
  @ParameterizedTest
  @CsvSource({"10.80, 0", "10.80, 77", "2001:db8:, 0", "2001:db8:, 77"})
  void shouldWriteEntriesBeforeItRaisesGenerations(String start, int endpointId) {
    final boolean isIpv6 = start.indexOf(':') >= 0;
    final List<IpcacheChange> changes = new ArrayList<>();
    for (int i = 0; i < CHANGES; i++) {
      final String address =
          isIpv6 ? "%s:%x".formatted(start, i) : "%s.%d.%d".formatted(start, i >> 8, i & 0xff);
      final int endpoint = i + 1 == CHANGES ? endpointId : 0;
      final Prefix prefix = Prefix.parse(address + (isIpv6 ? "/128" : "/32"));
      changes.add(new IpcacheChange(null, new IpcacheEntry(prefix, IDENTITY, endpoint, false)));
    }
    final IpAddress last = changes.getLast().prefix().address();
    final BpfMap map = manager.maps().find(isIpv6 ? "ipcache6" : "ipcache4").orElseThrow();
    final EntryBuffer entry = new EntryBuffer(map);
    if (isIpv6) {
      new Ipcache6KeyFlyweight()
          .wrap(entry.key(), 0)
          .prefixLength(128)
          .address(last.high(), last.low());
    } else {
      new Ipcache4KeyFlyweight().wrap(entry.key(), 0).prefixLength(32).address((int) last.low());
    }
    assertTrue(map.lookup(entry) < 0);
    final int index = endpointId == 0 ? GenerationLayout.OUTSIDE + Shards.of(last) : endpointId;
    try (GenerationArray generations =
        new GenerationArray(manager.maps().find("generations").orElseThrow())) {
      final long before = generations.get(index);
      final CompletableFuture<Void> applied = manager.ipcache().apply(changes);
      while (generations.get(index) == before) {
        assertFalse(applied.isDone() && generations.get(index) == before, "it is not raised");
        Thread.onSpinWait();
      }
      assertEquals(0, map.lookup(entry), "the generation is raised, and the entry is not written");
      await(applied);
    }
  }
}
