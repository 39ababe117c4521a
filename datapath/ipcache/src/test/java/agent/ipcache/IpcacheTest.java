package agent.ipcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.Errno;
import agent.conductor.Repairs;
import agent.datapath.guard.KernelFaults;
import agent.datapath.manager.conductor.DatapathConductor;
import agent.datapath.manager.conductor.IpcacheMaps;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.maps.layout.Ipcache4KeyFlyweight;
import agent.maps.layout.Ipcache6KeyFlyweight;
import agent.maps.layout.IpcacheEntryFlyweight;
import agent.maps.layout.IpcacheFlag;
import agent.reconcile.RefusedEntries;
import agent.reconcile.TargetMap;
import agent.types.IpAddress;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class IpcacheTest {
  private static final IpAddress ADDRESS = IpAddress.parse("10.5.0.9");
  private static final Prefix PREFIX = Prefix.of(ADDRESS);
  private static final Prefix OTHER = Prefix.parse("10.5.0.10/32");
  private static final IpcacheEntry CIDR = new IpcacheEntry(PREFIX, 1 << 24, 0, false);
  private static final IpcacheEntry NODE = new IpcacheEntry(PREFIX, 1, 0, true);
  private static final IpcacheEntry ENDPOINT = new IpcacheEntry(PREFIX, 300, 7, false);

  private final Kernel kernel = new Kernel();
  private final Ipcache ipcache = new Ipcache(kernel);

  @BeforeEach
  void begin() {
    ipcache.setNode(Set.of()).join();
    kernel.commands.clear();
  }

  @Test
  void shouldPreferTheEndpointToTheNodeAndTheNodeToARule() {
    ipcache.setNode(Set.of(PREFIX)).join();
    ipcache.putOutside(Ipcache.inOrder(Map.of(PREFIX, 1 << 24))).join();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(
        List.of(List.of(new IpcacheChange(null, NODE)), List.of(new IpcacheChange(NODE, ENDPOINT))),
        kernel.commands,
        "the node's address has precedence over the rule's CIDR");
  }

  @Test
  void shouldReturnToTheNextSourceWhereTheHighestIsRemoved() {
    ipcache.putOutside(Ipcache.inOrder(Map.of(PREFIX, 1 << 24))).join();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    kernel.commands.clear();
    ipcache.removeEndpoint(7, List.of(ADDRESS)).join();
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
    ipcache.putOutside(Ipcache.inOrder(Map.of(PREFIX, 1 << 24))).join();
    assertEquals(CIDR, kernel.held.get(PREFIX));
    ipcache.addNode(wide).join();
    assertEquals(NODE, kernel.held.get(PREFIX), "the longest prefix is the rule's");
    assertEquals(new IpcacheEntry(wide, 1, 0, true), kernel.held.get(wide));
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
    ipcache.removeEndpoint(7, List.of(ADDRESS)).join();
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

  /** A build that is repeated is not answered as one that has succeeded. */
  @Test
  void shouldFailUntilTheKernelHoldsTheEntriesOfAnEndpoint() {
    kernel.isFull = true;
    assertRefused("update 10.5.0.9/32: ENOSPC", ipcache.putEndpoint(7, 300, List.of(ADDRESS)));
    assertRefused("update 10.5.0.9/32: ENOSPC", ipcache.putEndpoint(7, 300, List.of(ADDRESS)));
    ipcache.putOutside(Ipcache.inOrder(Map.of())).join();
    kernel.isFull = false;
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
    kernel.commands.clear();
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    assertEquals(List.of(), kernel.commands);
  }

  /** Its identity must not be released while an address still has it. */
  @Test
  void shouldFailUntilTheKernelHasRemovedTheEntriesOfAnEndpoint() {
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    kernel.isBusy = true;
    assertRefused("delete 10.5.0.9/32: EBUSY", ipcache.removeEndpoint(7, List.of(ADDRESS)));
    assertRefused("delete 10.5.0.9/32: EBUSY", ipcache.removeEndpoint(7, List.of(ADDRESS)));
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
    kernel.isBusy = false;
    ipcache.removeEndpoint(7, List.of(ADDRESS)).join();
    assertFalse(kernel.held.containsKey(PREFIX));
    kernel.commands.clear();
    ipcache.removeEndpoint(7, List.of(ADDRESS)).join();
    assertEquals(List.of(), kernel.commands);
  }

  @Test
  void shouldNotRemoveTheEntryOfAnEndpointThatHasTheAddressSince() {
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    ipcache.putEndpoint(8, 301, List.of(ADDRESS)).join();
    ipcache.removeEndpoint(7, List.of(ADDRESS)).join();
    assertEquals(new IpcacheEntry(PREFIX, 301, 8, false), kernel.held.get(PREFIX));
    ipcache.removeEndpoint(8, List.of(ADDRESS)).join();
    assertFalse(kernel.held.containsKey(PREFIX));
  }

  /** A build waits for its own entries only. */
  @Test
  void shouldNotFailForTheRefusedEntryOfAnother() {
    kernel.isFull = true;
    assertRefused("update 10.5.0.10/32: ENOSPC", ipcache.addNode(OTHER));
    kernel.refusesOnly = OTHER;
    ipcache.putEndpoint(7, 300, List.of(ADDRESS)).join();
    kernel.isFull = false;
    ipcache.setNode(Set.of(OTHER)).join();
    assertTrue(kernel.held.get(OTHER).isHost(), "what was refused is written before the next call");
  }

  private static void assertRefused(String message, CompletableFuture<Void> answer) {
    assertEquals(message, answer.exceptionNow().getMessage());
  }

  @Test
  void shouldIncludeEntriesThatAreAddedWhileTheKernelIsRead() {
    final Kernel empty = new Kernel();
    final Ipcache fresh = new Ipcache(empty);
    empty.isHeld = true;
    final CompletableFuture<Void> compared = fresh.compare();
    final CompletableFuture<Void> put = fresh.putEndpoint(7, 300, List.of(ADDRESS));
    assertFalse(put.isDone());
    empty.isHeld = false;
    empty.run();
    compared.join();
    put.join();
    assertEquals(List.of(List.of(new IpcacheChange(null, ENDPOINT))), empty.commands);
  }

  /** Else an address has the identity of the wider one for a moment. */
  @Test
  void shouldAddLongerPrefixesOfRulesFirst() {
    final Map<Prefix, Integer> identities = new LinkedHashMap<>();
    for (final String text : List.of("10.0.0.0/8", "10.5.0.9/32", "fd00::/16", "10.5.0.0/16")) {
      identities.put(Prefix.parse(text), (1 << 24) + identities.size());
    }
    ipcache.putOutside(Ipcache.inOrder(identities)).join();
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

  @Test
  void shouldWriteWhatTheFirstComparisonCouldNotWriteBeforeTheNextCall() {
    final Kernel full = new Kernel();
    final Ipcache fresh = new Ipcache(full);
    full.held.put(OTHER, CIDR);
    full.isFull = true;
    fresh.stageEndpoint(7, 300, List.of(ADDRESS));
    assertRefused("update 10.5.0.9/32: ENOSPC", fresh.compare());
    assertFalse(full.held.containsKey(OTHER), "the previous run has ended");
    full.isFull = false;
    fresh.setNode(Set.of()).join();
    assertEquals(ENDPOINT, full.held.get(PREFIX));
  }

  /** The datapath has no room for a moment, and no longer knows of the change. */
  @Test
  void shouldNotLoseAChangeThatTheConductorRefused() {
    kernel.fillQueue();
    assertTrue(ipcache.putEndpoint(7, 300, List.of(ADDRESS)).isCompletedExceptionally());
    kernel.empty();
    assertFalse(kernel.held.containsKey(PREFIX));
    ipcache.setNode(Set.of()).join();
    assertEquals(ENDPOINT, kernel.held.get(PREFIX));
  }

  /** Else the entries of the previous run would stay. */
  @Test
  void shouldNotLoseAComparisonThatTheConductorRefused() {
    final Kernel previous = new Kernel();
    final Ipcache fresh = new Ipcache(previous);
    previous.held.put(OTHER, CIDR);
    previous.fillQueue();
    fresh.stageEndpoint(7, 300, List.of(ADDRESS));
    assertTrue(fresh.compare().isCompletedExceptionally());
    previous.empty();
    assertTrue(previous.held.containsKey(OTHER));
    fresh.setNode(Set.of()).join();
    assertEquals(ENDPOINT, previous.held.get(PREFIX));
    assertFalse(previous.held.containsKey(OTHER));
  }

  /** What the kernel has of the previous run stays until the first comparison. */
  @Test
  void shouldKeepEntriesOfThePreviousRunUntilTheComparison() {
    final Kernel previous = new Kernel();
    previous.held.put(PREFIX, CIDR);
    previous.apply(List.of(new IpcacheChange(null, new IpcacheEntry(OTHER, 301, 8, false)))).join();
    assertEquals(CIDR, previous.held.get(PREFIX));
    assertEquals(2, previous.held.size());
    final Ipcache fresh = new Ipcache(previous);
    fresh.stage(Map.of(OTHER, 1 << 24), Set.of());
    fresh.compare().join();
    assertFalse(previous.held.containsKey(PREFIX));
    assertEquals(8, previous.held.get(OTHER).endpointId(), "an endpoint's is stronger");
  }

  /** The datapath's tables over maps in memory; records what each call has written. */
  private static final class Kernel implements IpcacheProxy, IpcacheMaps.Verdicts {
    private final Map<Prefix, IpcacheEntry> held = new TreeMap<>();
    private final List<List<IpcacheChange>> commands = new ArrayList<>();
    private final List<IpcacheChange> written = new ArrayList<>();
    private final DatapathConductor conductor =
        new DatapathConductor(System::nanoTime, new RefusedEntries(), () -> 0);
    private final IpcacheMaps maps =
        new IpcacheMaps(
            conductor,
            this,
            new PrefixMap(true, this),
            new PrefixMap(false, this),
            new KernelFaults(),
            new Repairs());
    private boolean isFull;
    private boolean isBusy;
    private boolean isHeld;

    /** The only prefix that a full map refuses; null: all. */
    private Prefix refusesOnly;

    void fillQueue() {
      isHeld = true;
      CompletableFuture<?> last;
      do {
        last = conductor.run(() -> {});
      } while (!last.isDone());
    }

    void empty() {
      isHeld = false;
      run();
    }

    @Override
    public CompletableFuture<List<IpcacheEntry>> read() {
      return answered(maps.read());
    }

    @Override
    public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
      return answered(maps.apply(changes));
    }

    @Override
    public CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes) {
      return answered(maps.synchronize(changes));
    }

    private <T> CompletableFuture<T> answered(CompletableFuture<T> answer) {
      if (!isHeld) {
        run();
      }
      return answer;
    }

    private void run() {
      while (conductor.doWork() > 0) {}
      if (!written.isEmpty()) {
        commands.add(List.copyOf(written));
        written.clear();
      }
    }

    @Override
    public void raise(int endpointId) {}

    @Override
    public void raiseShard(int shard) {}

    @Override
    public void raiseAll() {}
  }

  /** The map of one family. */
  private static final class PrefixMap implements TargetMap {
    private final boolean isIpv4;
    private final Kernel kernel;
    private final UnsafeBuffer key = new UnsafeBuffer(new byte[Ipcache6KeyFlyweight.LENGTH]);
    private final UnsafeBuffer value = new UnsafeBuffer(new byte[IpcacheEntryFlyweight.LENGTH]);
    private Iterator<Prefix> walk = Collections.emptyIterator();

    PrefixMap(boolean isIpv4, Kernel kernel) {
      this.isIpv4 = isIpv4;
      this.kernel = kernel;
    }

    @Override
    public String name() {
      return isIpv4 ? "ipcache4" : "ipcache6";
    }

    @Override
    public int keyBytes() {
      return isIpv4 ? Ipcache4KeyFlyweight.LENGTH : Ipcache6KeyFlyweight.LENGTH;
    }

    @Override
    public int valueBytes() {
      return IpcacheEntryFlyweight.LENGTH;
    }

    private Prefix prefix(DirectBuffer read) {
      final UnsafeBuffer copy = new UnsafeBuffer(new byte[keyBytes()]);
      copy.putBytes(0, read, 0, keyBytes());
      if (isIpv4) {
        final Ipcache4KeyFlyweight key4 = new Ipcache4KeyFlyweight().wrap(copy, 0);
        return Prefix.of(IpAddress.ofIpv4(key4.address()), key4.prefixLength());
      }
      final Ipcache6KeyFlyweight key6 = new Ipcache6KeyFlyweight().wrap(copy, 0);
      return Prefix.of(
          IpAddress.ofIpv6(key6.addressHigh(), key6.addressLow()), key6.prefixLength());
    }

    @Override
    public int update(DirectBuffer updated, DirectBuffer to) {
      if (kernel.isFull
          && (kernel.refusesOnly == null || kernel.refusesOnly.equals(prefix(updated)))) {
        return -Errno.ENOSPC;
      }
      final UnsafeBuffer copy = new UnsafeBuffer(new byte[valueBytes()]);
      copy.putBytes(0, to, 0, valueBytes());
      final IpcacheEntryFlyweight entry = new IpcacheEntryFlyweight().wrap(copy, 0);
      final Prefix prefix = prefix(updated);
      final IpcacheEntry after =
          new IpcacheEntry(
              prefix,
              entry.identity(),
              entry.endpointId(),
              entry.flags() == IpcacheFlag.HOST.number());
      kernel.written.add(new IpcacheChange(kernel.held.put(prefix, after), after));
      return 0;
    }

    @Override
    public int insert(DirectBuffer inserted, DirectBuffer to) {
      return kernel.held.containsKey(prefix(inserted)) ? -Errno.EEXIST : update(inserted, to);
    }

    @Override
    public int delete(DirectBuffer deleted) {
      if (kernel.isBusy) {
        return -Errno.EBUSY;
      }
      final IpcacheEntry before = kernel.held.remove(prefix(deleted));
      if (before == null) {
        return -Errno.ENOENT;
      }
      kernel.written.add(new IpcacheChange(before, null));
      return 0;
    }

    @Override
    public int beginWalk() {
      walk =
          kernel.held.keySet().stream()
              .filter(prefix -> prefix.isIpv4() == isIpv4)
              .toList()
              .iterator();
      return 0;
    }

    @Override
    public boolean nextBatch() {
      return walk.hasNext();
    }

    @Override
    public boolean nextOfBatch() {
      if (!walk.hasNext()) {
        return false;
      }
      final Prefix prefix = walk.next();
      final IpAddress address = prefix.address();
      if (isIpv4) {
        new Ipcache4KeyFlyweight()
            .wrap(key, 0)
            .prefixLength(prefix.length())
            .address((int) address.low());
      } else {
        new Ipcache6KeyFlyweight()
            .wrap(key, 0)
            .prefixLength(prefix.length())
            .address(address.high(), address.low());
      }
      final IpcacheEntry entry = kernel.held.get(prefix);
      new IpcacheEntryFlyweight()
          .wrap(value, 0)
          .identity(entry.identity())
          .endpointId(entry.endpointId())
          .flags(entry.isHost() ? IpcacheFlag.HOST.number() : 0);
      return true;
    }

    @Override
    public MutableDirectBuffer key() {
      return key;
    }

    @Override
    public MutableDirectBuffer value() {
      return value;
    }

    @Override
    public int walkError() {
      return 0;
    }

    @Override
    public void endWalk() {
      walk = Collections.emptyIterator();
    }

    @Override
    public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
      beginWalk();
      while (nextOfBatch()) {
        visitor.accept(key, value);
      }
    }

    @Override
    public String text(MutableDirectBuffer named) {
      return prefix(named).toString();
    }

    @Override
    public RuntimeException failure(String operation, String subject, int result) {
      return new IllegalStateException(operation + " " + subject + ": " + Errno.name(-result));
    }
  }
}
