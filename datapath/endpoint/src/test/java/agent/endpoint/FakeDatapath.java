package agent.endpoint;

import agent.datapath.spec.EndpointAttachmentProxy;
import agent.datapath.spec.EndpointSpec;
import agent.datapath.spec.IpcacheEntry;
import agent.datapath.spec.IpcacheProxy;
import agent.datapath.spec.IpcacheProxy.IpcacheChange;
import agent.datapath.spec.IpcacheSource;
import agent.datapath.spec.PolicyDelta;
import agent.datapath.spec.PolicyEntry;
import agent.datapath.spec.PolicyMapProxy;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * A datapath in memory. It computes verdicts as the programs do, so that a test can check them
 * after every single write.
 */
final class FakeDatapath implements EndpointAttachmentProxy, PolicyMapProxy, IpcacheProxy {
  private static final int WORLD4 = 9;
  private static final int WORLD6 = 10;

  final Map<Integer, Map<PolicyEntry.Key, PolicyEntry>> policies = new TreeMap<>();

  /** The endpoints one of whose changes was refused since they were synchronized. */
  private final Set<Integer> behind = new TreeSet<>();

  final Map<Integer, EndpointSpec> attached = new TreeMap<>();
  final Map<Integer, Integer> identities = new TreeMap<>();

  /** Endpoint to interface index, where programs that drop all packets are or were attached. */
  final Map<Integer, Integer> closed = new TreeMap<>();

  final Set<Integer> remembered = new TreeSet<>();
  boolean hasLinks = true;

  /** Why the proxies do not start; null where they do. */
  String unserved;

  /** What happens where proxies are to obey what is written. */
  Runnable onEnforced = () -> {};

  final Map<Prefix, IpcacheEntry> ipcache = new TreeMap<>();
  private final Map<IpcacheSource, Map<Prefix, IpcacheEntry>> desired =
      new EnumMap<>(IpcacheSource.class);

  /** Prefixes whose entries were refused: they are written before those of the next call. */
  private final Set<Prefix> refused = new LinkedHashSet<>();

  private int heldComparisons;
  final List<String> calls = new ArrayList<>();

  /** Runs before and after each write of an entry. */
  Runnable aroundWrites = () -> {};

  Predicate<String> fails = call -> false;

  /** The calls that are carried out, and whose answers wait for {@link #answerHeld}. */
  Predicate<String> holds = call -> false;

  private final List<Runnable> held = new ArrayList<>();

  private <T> CompletableFuture<T> done(String call, T value) {
    calls.add(call);
    aroundWrites.run();
    return answer(call, value);
  }

  private <T> CompletableFuture<T> answer(String call, T value) {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    if (holds.test(call)) {
      held.add(() -> answer.complete(value));
    } else {
      answer.complete(value);
    }
    return answer;
  }

  /** Releases the answers that wait; returns their number. */
  int answerHeld() {
    final List<Runnable> answers = List.copyOf(held);
    held.clear();
    answers.forEach(Runnable::run);
    return answers.size();
  }

  private <T> CompletableFuture<T> failure(String call) {
    calls.add(call + " fails");
    return CompletableFuture.failedFuture(new OperationException("the kernel refused"));
  }

  @Override
  public CompletableFuture<Void> close(int endpointId, int ifindex, String interfaceName) {
    final String call = "close " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    closed.put(endpointId, ifindex);
    return answer(call, null);
  }

  @Override
  public CompletableFuture<Void> attach(EndpointSpec endpoint) {
    final String call = "attach " + endpoint.id();
    if (fails.test(call)) {
      return failure(call);
    }
    attached.put(endpoint.id(), endpoint);
    identities.put(endpoint.id(), endpoint.identity());
    policies.computeIfAbsent(endpoint.id(), id -> new HashMap<>());
    return done(call, null);
  }

  @Override
  public CompletableFuture<List<String>> detach(int endpointId) {
    final String call = "detach " + endpointId;
    if (fails.test(call)) {
      return done(call, List.of("link: EBUSY"));
    }
    closed.remove(endpointId);
    attached.remove(endpointId);
    identities.remove(endpointId);
    policies.remove(endpointId);
    return done(call, List.of());
  }

  @Override
  public CompletableFuture<Void> stopDelivery(int endpointId) {
    final String call = "stop delivery " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    attached.remove(endpointId);
    return done(call, null);
  }

  @Override
  public CompletableFuture<Void> enforceOnOpenFlows() {
    onEnforced.run();
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<Void> startProxies(Set<RedirectKind> kinds) {
    return kinds.isEmpty() ? CompletableFuture.completedFuture(null) : done("proxies", null);
  }

  @Override
  public Optional<String> unserved(Set<RedirectKind> proxies) {
    return proxies.isEmpty() ? Optional.empty() : Optional.ofNullable(unserved);
  }

  @Override
  public CompletableFuture<Map<Integer, RuntimeException>> apply(List<PolicyChange> changes) {
    if (fails.test("all changes")) {
      changes.forEach(change -> behind.add(change.endpointId()));
      return failure("all changes");
    }
    final Map<Integer, RuntimeException> failures = new TreeMap<>();
    for (final PolicyChange change : changes) {
      final CompletableFuture<Void> applied = applyOne(change);
      if (applied.isCompletedExceptionally()) {
        failures.put(change.endpointId(), (RuntimeException) applied.exceptionNow());
        behind.add(change.endpointId());
      }
    }
    return answer("applied", failures);
  }

  private CompletableFuture<Void> applyOne(PolicyChange change) {
    final int endpointId = change.endpointId();
    final PolicyDelta delta = change.delta();
    final String call =
        "apply %d +%d -%d%s"
            .formatted(
                endpointId,
                delta.upserts().size(),
                delta.deletes().size(),
                change.isUnused() ? " unused" : "");
    final Map<PolicyEntry.Key, PolicyEntry> map = policies.get(endpointId);
    if (map == null || fails.test(call)) {
      return failure(call);
    }
    for (final boolean deny : new boolean[] {true, false}) {
      delta.upserts().stream()
          .filter(entry -> entry.isDeny() == deny)
          .forEach(entry -> write(() -> map.put(entry.key(), entry)));
    }
    for (final boolean deny : new boolean[] {false, true}) {
      delta.deletes().stream()
          .filter(entry -> entry.isDeny() == deny)
          .forEach(entry -> write(() -> map.remove(entry.key())));
    }
    return done(call, null);
  }

  private void write(Runnable change) {
    aroundWrites.run();
    change.run();
    aroundWrites.run();
  }

  @Override
  public CompletableFuture<PolicyDelta> synchronize(
      int endpointId, int identity, Collection<PolicyEntry> desired) {
    final String call = "synchronize " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    final Map<PolicyEntry.Key, PolicyEntry> map =
        policies.computeIfAbsent(endpointId, id -> new HashMap<>());
    final Map<PolicyEntry.Key, PolicyEntry> wanted = new HashMap<>();
    desired.forEach(entry -> wanted.put(entry.key(), entry));
    final List<PolicyEntry> upserts =
        desired.stream().filter(entry -> !entry.equals(map.get(entry.key()))).toList();
    final List<PolicyEntry> deletes =
        map.values().stream().filter(entry -> !wanted.containsKey(entry.key())).toList();
    upserts.forEach(entry -> write(() -> map.put(entry.key(), entry)));
    deletes.forEach(entry -> write(() -> map.remove(entry.key())));
    behind.remove(endpointId);
    return done(call, new PolicyDelta(upserts, deletes));
  }

  @Override
  public boolean isBehind(int endpointId) {
    return behind.contains(endpointId);
  }

  @Override
  public CompletableFuture<Void> setIdentity(int endpointId, int identity) {
    final String call = "identity " + endpointId + " " + identity;
    if (fails.test(call)) {
      return failure(call);
    }
    identities.put(endpointId, identity);
    return done(call, null);
  }

  @Override
  public CompletableFuture<List<IpcacheEntry>> read() {
    return fails.test("ipcache read")
        ? failure("ipcache read")
        : answer("ipcache read", List.copyOf(ipcache.values()));
  }

  @Override
  public CompletableFuture<Void> apply(Collection<IpcacheChange> changes) {
    return inOrder(() -> write(desire(changes)));
  }

  @Override
  public CompletableFuture<Void> synchronize(Collection<IpcacheChange> changes) {
    final String call = "ipcache read";
    if (fails.test(call)) {
      refused.addAll(all(changes));
      return failure(call);
    }
    if (!holds.test(call)) {
      return inOrder(() -> write(all(changes)));
    }
    heldComparisons++;
    final CompletableFuture<Void> written = inOrder(() -> write(all(changes)));
    held.add(() -> heldComparisons--);
    return written;
  }

  /** Carries out at once what no comparison before it waits for. */
  private CompletableFuture<Void> inOrder(Supplier<CompletableFuture<Void>> work) {
    if (heldComparisons == 0) {
      return work.get();
    }
    final CompletableFuture<Void> answer = new CompletableFuture<>();
    held.add(
        () ->
            work.get()
                .whenComplete(
                    (done, failure) -> {
                      if (failure == null) {
                        answer.complete(null);
                      } else {
                        answer.completeExceptionally(failure);
                      }
                    }));
    return answer;
  }

  /** A new agent has its sources say what they want. */
  void forgetDesired() {
    desired.clear();
    refused.clear();
    behind.clear();
  }

  /** Changes what the sources want; returns the prefixes whose entries may change. */
  private Set<Prefix> desire(Collection<IpcacheChange> changes) {
    final Set<Prefix> touched = new LinkedHashSet<>();
    for (final IpcacheChange change : changes) {
      touched.add(change.prefix());
      final IpcacheEntry before = change.before();
      if (before != null) {
        of(before.source())
            .computeIfPresent(
                change.prefix(),
                (prefix, entry) -> entry.endpointId() == before.endpointId() ? null : entry);
      }
      if (change.after() != null) {
        of(change.after().source()).put(change.prefix(), change.after());
      }
    }
    of(IpcacheSource.OUTSIDE).keySet().stream()
        .filter(prefix -> changes.stream().anyMatch(change -> change.prefix().covers(prefix)))
        .forEach(touched::add);
    return touched;
  }

  private Set<Prefix> all(Collection<IpcacheChange> changes) {
    desire(changes);
    final Set<Prefix> all = new TreeSet<>(ipcache.keySet());
    desired.values().forEach(entries -> all.addAll(entries.keySet()));
    return all;
  }

  private Map<Prefix, IpcacheEntry> of(IpcacheSource source) {
    return desired.computeIfAbsent(source, absent -> new TreeMap<>());
  }

  /** Returns what the kernel is to hold: of the strongest source, and of the node below it. */
  private IpcacheEntry desired(Prefix prefix) {
    for (final IpcacheSource source : List.of(IpcacheSource.ENDPOINT, IpcacheSource.NODE)) {
      if (of(source).containsKey(prefix)) {
        return of(source).get(prefix);
      }
    }
    final IpcacheEntry outside = of(IpcacheSource.OUTSIDE).get(prefix);
    return outside == null
        ? null
        : of(IpcacheSource.NODE).values().stream()
            .filter(entry -> entry.prefix().covers(prefix))
            .max(Comparator.comparingInt(entry -> entry.prefix().length()))
            .map(entry -> new IpcacheEntry(prefix, entry.identity(), 0, entry.isHost()))
            .orElse(outside);
  }

  /** Writes the differences among some prefixes, and before them what was refused. */
  private CompletableFuture<Void> write(Set<Prefix> touched) {
    final Set<Prefix> again = new LinkedHashSet<>(refused);
    refused.clear();
    writeDifferences(again);
    return writeDifferences(touched);
  }

  private CompletableFuture<Void> writeDifferences(Set<Prefix> touched) {
    final List<Prefix> puts = new ArrayList<>();
    final List<Prefix> deletes = new ArrayList<>();
    for (final Prefix prefix : touched) {
      if (!Objects.equals(desired(prefix), ipcache.get(prefix))) {
        (desired(prefix) == null ? deletes : puts).add(prefix);
      }
    }
    if (puts.isEmpty() && deletes.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    final String call =
        "ipcache" + (puts.isEmpty() ? "" : " +" + puts) + (deletes.isEmpty() ? "" : " -" + deletes);
    if (fails.test(call)) {
      refused.addAll(puts);
      refused.addAll(deletes);
      return failure(call);
    }
    puts.forEach(prefix -> write(() -> ipcache.put(prefix, desired(prefix))));
    deletes.forEach(prefix -> write(() -> ipcache.remove(prefix)));
    return done(call, null);
  }

  @Override
  public CompletableFuture<Set<Integer>> known() {
    if (fails.test("known")) {
      return failure("known");
    }
    final Set<Integer> known = new TreeSet<>(policies.keySet());
    known.addAll(closed.keySet());
    return done("known", known);
  }

  @Override
  public CompletableFuture<Set<Integer>> enforced() {
    return CompletableFuture.completedFuture(new TreeSet<>(policies.keySet()));
  }

  @Override
  public CompletableFuture<KernelEntry> entryOf(int endpointId) {
    final EndpointSpec spec = attached.get(endpointId);
    return answer(
        "entry " + endpointId,
        spec == null
            ? new KernelEntry(0, 0, MacAddress.of(0), MacAddress.of(0))
            : new KernelEntry(
                spec.ifindex(), identities.get(endpointId), spec.mac(), spec.hostMac()));
  }

  @Override
  public CompletableFuture<HostInterface> hostInterfaceOf(int endpointId) {
    final String call = "host side " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    final EndpointSpec spec = attached.get(endpointId);
    return answer(
        call,
        spec == null
            ? new HostInterface(
                closed.getOrDefault(endpointId, 0), null, closed.containsKey(endpointId))
            : new HostInterface(spec.ifindex(), spec.hostMac(), hasLinks));
  }

  @Override
  public CompletableFuture<Void> rememberRemoval(int endpointId) {
    final String call = "remember " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    remembered.add(endpointId);
    return answer(call, null);
  }

  @Override
  public CompletableFuture<Void> forgetRemoval(int endpointId) {
    final String call = "forget " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    remembered.remove(endpointId);
    return answer(call, null);
  }

  @Override
  public CompletableFuture<Set<Integer>> rememberedRemovals() {
    return answer("remembered", Set.copyOf(remembered));
  }

  /**
   * Changes the number of an identity, as if the previous run of the agent had assigned another
   * one.
   */
  void renumber(int from, int to) {
    ipcache.replaceAll(
        (prefix, e) ->
            e.identity() == from ? new IpcacheEntry(prefix, to, e.endpointId(), e.isHost()) : e);
    for (final Map<PolicyEntry.Key, PolicyEntry> map : policies.values()) {
      for (final PolicyEntry e : List.copyOf(map.values())) {
        if (e.identity() == from) {
          final PolicyEntry other =
              new PolicyEntry(
                  to, e.direction(), e.protocol(), e.port(), e.prefixLength(), e.verdict());
          map.remove(e.key());
          map.put(other.key(), other);
        }
      }
    }
  }

  /** Returns the identity that the programs look up for an address. */
  int identityOf(IpAddress address) {
    for (int length = address.bitLength(); length >= 0; length--) {
      final IpcacheEntry entry = ipcache.get(Prefix.of(address, length));
      if (entry != null) {
        return entry.identity();
      }
    }
    return address.isIpv4() ? WORLD4 : WORLD6;
  }

  /** Returns whether the policy map of the endpoint allows the packet. */
  boolean allows(
      int endpointId, PolicyDirection direction, IpAddress peer, int protocol, int port) {
    final Map<PolicyEntry.Key, PolicyEntry> map = policies.get(endpointId);
    if (map == null) {
      return false;
    }
    final PolicyEntry one = longest(map, identityOf(peer), direction, protocol, port);
    final PolicyEntry any = longest(map, 0, direction, protocol, port);
    return (one == null || !one.isDeny())
        && (any == null || !any.isDeny())
        && (one != null || any != null);
  }

  private static PolicyEntry longest(
      Map<PolicyEntry.Key, PolicyEntry> map,
      int identity,
      PolicyDirection direction,
      int protocol,
      int port) {
    for (int length = 64; length > 48; length--) {
      final int prefix = port & 0xffff << 64 - length;
      final PolicyEntry entry =
          map.get(new PolicyEntry.Key(identity, direction, protocol, prefix, length));
      if (entry != null) {
        return entry;
      }
    }
    final PolicyEntry entry = map.get(new PolicyEntry.Key(identity, direction, protocol, 0, 48));
    return entry != null ? entry : map.get(new PolicyEntry.Key(identity, direction, 0, 0, 40));
  }
}
