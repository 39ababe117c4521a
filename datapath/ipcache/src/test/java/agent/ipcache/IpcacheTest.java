package agent.ipcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.IpcacheProxy;
import agent.datapath.manager.spec.IpcacheProxy.IpcacheChange;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class IpcacheTest {
  private static final IpAddress ADDRESS = IpAddress.parse("10.5.0.9");
  private static final Prefix PREFIX = Prefix.of(ADDRESS);
  private static final IpcacheEntry CIDR = new IpcacheEntry(PREFIX, 1 << 24, 0, false);
  private static final IpcacheEntry NODE = new IpcacheEntry(PREFIX, 1, 0, true);
  private static final IpcacheEntry ENDPOINT = new IpcacheEntry(PREFIX, 300, 7, false);

  private final Kernel kernel = new Kernel();
  private final Ipcache ipcache = new Ipcache(kernel, Runnable::run);

  @BeforeEach
  void begin() {
    ipcache.setNode(Set.of()).join();
    kernel.commands.clear();
  }

  @Test
  void shouldPreferTheEndpointToTheNodeAndTheNodeToARule() {
    ipcache.setNode(Set.of(PREFIX)).join();
    ipcache.putOutside(Map.of(PREFIX, 1 << 24)).join();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(
        List.of(List.of(new IpcacheChange(null, NODE)), List.of(new IpcacheChange(NODE, ENDPOINT))),
        kernel.commands,
        "the node's address has precedence over the rule's CIDR");
  }

  @Test
  void shouldReturnToTheNextSourceWhereTheHighestIsRemoved() {
    ipcache.putOutside(Map.of(PREFIX, 1 << 24)).join();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    kernel.commands.clear();
    ipcache.removeEndpoint(List.of(ADDRESS)).join();
    ipcache.removeOutside(List.of(PREFIX)).join();
    assertEquals(
        List.of(List.of(new IpcacheChange(ENDPOINT, CIDR)), List.of(new IpcacheChange(CIDR, null))),
        kernel.commands);
  }

  @Test
  void shouldSendNoCommandWhereNothingChanges() {
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    kernel.commands.clear();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    ipcache.removeOutside(List.of(PREFIX)).join();
    ipcache.setNode(Set.of()).join();
    assertEquals(List.of(), kernel.commands);
  }

  @Test
  void shouldWriteOnlyTheEntriesWhoseIdentityChanges() {
    final IpAddress second = IpAddress.parse("fd00::9");
    ipcache.putEndpoint(7, 300, List.of(ADDRESS, second)).join();
    kernel.commands.clear();
    ipcache.putEndpoint(7, 301, List.of(ADDRESS, second)).join();
    assertEquals(1, kernel.commands.size(), "one command for both addresses");
    assertEquals(2, kernel.commands.getFirst().size());
    assertEquals(
        new IpcacheChange(ENDPOINT, new IpcacheEntry(PREFIX, 301, 7, false)),
        kernel.commands.getFirst().getFirst());
  }

  @Test
  void shouldFollowTheNodesAddressesAndKeepTheLinkScopePrefixes() {
    final IpAddress other = IpAddress.parse("192.0.2.1");
    ipcache.setNode(Set.of(PREFIX)).join();
    ipcache.setNode(Set.of(Prefix.of(other))).join();
    assertFalse(ipcache.isNode(ADDRESS));
    assertTrue(ipcache.isNode(other));
    assertFalse(kernel.held.containsKey(PREFIX));
    assertTrue(kernel.held.get(Prefix.of(other)).isHost());
    final IpcacheEntry linkLocal = kernel.held.get(Prefix.parse("fe80::/10"));
    assertEquals(1, linkLocal.identity());
    assertFalse(linkLocal.isHost(), "workloads may use it as source");
    assertEquals(5, kernel.held.size());
  }

  @Test
  void shouldMakeTheCidrsOfRulesBelowAPrefixOfTheNodeTheNodes() {
    final Prefix wide = Prefix.parse("10.5.0.0/16");
    ipcache.putOutside(Map.of(PREFIX, 1 << 24)).join();
    assertEquals(CIDR, kernel.held.get(PREFIX));
    ipcache.addNode(wide).join();
    assertEquals(NODE, kernel.held.get(PREFIX), "the longest prefix is the rule's");
    assertEquals(new IpcacheEntry(wide, 1, 0, true), kernel.held.get(wide));
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
    ipcache.removeEndpoint(List.of(ADDRESS)).join();
    assertEquals(NODE, kernel.held.get(PREFIX));
    ipcache.setNode(Set.of(wide)).join();
    ipcache.setNode(Set.of()).join();
    assertEquals(CIDR, kernel.held.get(PREFIX));
    assertFalse(kernel.held.containsKey(wide));
  }

  @Test
  void shouldAddAPrefixOfTheNodeOnce() {
    ipcache.addNode(PREFIX).join();
    ipcache.addNode(PREFIX).join();
    ipcache.setNode(Set.of(PREFIX)).join();
    assertEquals(List.of(List.of(new IpcacheChange(null, NODE))), kernel.commands);
  }

  @Test
  void shouldCompareWithTheKernelAfterAWriteFailed() {
    kernel.failure = new IllegalStateException("map ipcache4: ENOSPC");
    assertTrue(ipcache.putEndpoint(7, 300, List.of(ADDRESS)).isCompletedExceptionally());
    kernel.failure = null;
    kernel.held.put(Prefix.parse("203.0.113.0/24"), CIDR);
    ipcache.compareIfOutdated().join();
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
    assertFalse(kernel.held.containsKey(Prefix.parse("203.0.113.0/24")), "no source has an entry");
    final int commands = kernel.commands.size();
    ipcache.compareIfOutdated().join();
    assertEquals(commands, kernel.commands.size(), "no further comparison is needed");
  }

  @Test
  void shouldIncludeEntriesThatAreAddedWhileTheKernelIsRead() {
    final Ipcache fresh = new Ipcache(kernel, Runnable::run);
    kernel.reading = new CompletableFuture<>();
    final CompletableFuture<Void> compared = fresh.compare();
    final CompletableFuture<Void> put = fresh.putEndpoint(7, 300, List.of(ADDRESS));
    assertFalse(put.isDone());
    kernel.reading.complete(List.of());
    compared.join();
    put.join();
    assertEquals(List.of(List.of(new IpcacheChange(null, ENDPOINT))), kernel.commands);
  }

  /** Else an address has the identity of the wider one for a moment. */
  @Test
  void shouldAddLongerPrefixesOfRulesFirst() {
    final Map<Prefix, Integer> identities = new LinkedHashMap<>();
    for (final String text : List.of("10.0.0.0/8", "10.5.0.9/32", "fd00::/16", "10.5.0.0/16")) {
      identities.put(Prefix.parse(text), (1 << 24) + identities.size());
    }
    ipcache.putOutside(identities).join();
    assertEquals(
        List.of("10.5.0.9/32", "fd00::/16", "10.5.0.0/16", "10.0.0.0/8"),
        kernel.commands.getFirst().stream().map(it -> it.prefix().toString()).toList());
  }

  /** A start stages the entries of all sources; one comparison writes them. */
  @Test
  void shouldWriteNothingThatIsStagedBeforeTheComparison() {
    final IpAddress node = IpAddress.parse("192.0.2.1");
    final IpAddress other = IpAddress.parse("10.5.0.10");
    ipcache.putEndpoint(8, 301, List.of(other)).join();
    kernel.commands.clear();
    ipcache.stageEndpoint(7, 300, List.of(ADDRESS));
    final Prefix prefix = Prefix.parse("198.51.100.0/24");
    ipcache.stage(Map.of(prefix, 1 << 24), Set.of(Prefix.of(node)));
    assertEquals(List.of(), kernel.commands);
    assertTrue(ipcache.isNode(node));
    final List<IpcacheEntry> before = ipcache.inKernel().join();
    assertTrue(before.contains(new IpcacheEntry(Prefix.of(other), 301, 8, false)));
    ipcache.compare().join();
    assertEquals(1, kernel.commands.size());
    assertEquals(3, kernel.commands.getFirst().size());
    final List<IpcacheEntry> after = ipcache.inKernel().join();
    assertTrue(after.contains(ENDPOINT));
    assertTrue(after.contains(new IpcacheEntry(Prefix.of(node), 1, 0, true)));
    assertTrue(after.contains(new IpcacheEntry(prefix, 1 << 24, 0, false)));
    assertEquals(before.size() + 3, after.size());
  }

  /** A fake of the kernel's maps that records every command. */
  private static final class Kernel implements IpcacheProxy {
    private final Map<Prefix, IpcacheEntry> held = new TreeMap<>();
    private final List<List<IpcacheChange>> commands = new ArrayList<>();
    private RuntimeException failure;
    private CompletableFuture<List<IpcacheEntry>> reading;

    @Override
    public CompletableFuture<List<IpcacheEntry>> read() {
      return reading == null
          ? CompletableFuture.completedFuture(held.entrySet().stream().map(Kernel::entry).toList())
          : reading;
    }

    private static IpcacheEntry entry(Map.Entry<Prefix, IpcacheEntry> entry) {
      final IpcacheEntry value = entry.getValue();
      return new IpcacheEntry(entry.getKey(), value.identity(), value.endpointId(), value.isHost());
    }

    @Override
    public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
      commands.add(List.copyOf(changes));
      if (failure != null) {
        return CompletableFuture.failedFuture(failure);
      }
      for (final IpcacheChange change : changes) {
        if (change.after() == null) {
          held.remove(change.prefix());
        } else {
          held.put(change.prefix(), change.after());
        }
      }
      return CompletableFuture.completedFuture(null);
    }
  }
}
