package agent.endpoint;

import agent.datapath.manager.spec.DatapathProxy;
import agent.datapath.manager.spec.EndpointSpec;
import agent.datapath.manager.spec.IpcacheEntry;
import agent.datapath.manager.spec.PolicyMapDelta;
import agent.datapath.manager.spec.PolicyMapEntry;
import agent.maps.layout.PolicyDirection;
import agent.types.IpAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/**
 * A datapath of plain maps. It decides packets as the programs do, so that a test can ask for
 * verdicts after every single write.
 */
final class FakeDatapath implements DatapathProxy {
  private static final int WORLD4 = 9;
  private static final int WORLD6 = 10;

  final Map<Integer, Map<PolicyMapEntry.Key, PolicyMapEntry>> policies = new TreeMap<>();
  final Map<Integer, EndpointSpec> attached = new TreeMap<>();
  final Map<Integer, Integer> identities = new TreeMap<>();
  final Map<Prefix, IpcacheEntry> ipcache = new TreeMap<>();
  final List<String> calls = new ArrayList<>();
  Runnable afterWrite = () -> {};
  Predicate<String> fails = call -> false;

  private <T> CompletableFuture<T> done(String call, T value) {
    calls.add(call);
    afterWrite.run();
    return CompletableFuture.completedFuture(value);
  }

  private <T> CompletableFuture<T> failure(String call) {
    calls.add(call + " fails");
    return CompletableFuture.failedFuture(Refusal.failed("", "the kernel said no"));
  }

  @Override
  public CompletableFuture<Void> prepareEndpoint(EndpointSpec endpoint) {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public CompletableFuture<Void> attachEndpoint(EndpointSpec endpoint) {
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
  public CompletableFuture<List<String>> detachEndpoint(int endpointId) {
    final String call = "detach " + endpointId;
    final boolean failing = fails.test(call);
    attached.remove(endpointId);
    identities.remove(endpointId);
    policies.remove(endpointId);
    ipcache.values().removeIf(entry -> entry.endpointId() == endpointId);
    return done(call, failing ? List.of("link would not go") : List.of());
  }

  @Override
  public CompletableFuture<Void> applyPolicy(int endpointId, PolicyMapDelta delta) {
    final String call =
        "apply %d +%d -%d".formatted(endpointId, delta.upserts().size(), delta.deletes().size());
    final Map<PolicyMapEntry.Key, PolicyMapEntry> map = policies.get(endpointId);
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
    change.run();
    afterWrite.run();
  }

  @Override
  public CompletableFuture<PolicyMapDelta> synchronizePolicy(
      int endpointId, Collection<PolicyMapEntry> desired) {
    final String call = "synchronize " + endpointId;
    if (fails.test(call)) {
      return failure(call);
    }
    final Map<PolicyMapEntry.Key, PolicyMapEntry> map =
        policies.computeIfAbsent(endpointId, id -> new HashMap<>());
    final Map<PolicyMapEntry.Key, PolicyMapEntry> wanted = new HashMap<>();
    desired.forEach(entry -> wanted.put(entry.key(), entry));
    final List<PolicyMapEntry> upserts =
        desired.stream().filter(entry -> !entry.equals(map.get(entry.key()))).toList();
    final List<PolicyMapEntry> deletes =
        map.values().stream().filter(entry -> !wanted.containsKey(entry.key())).toList();
    upserts.forEach(entry -> write(() -> map.put(entry.key(), entry)));
    deletes.forEach(entry -> write(() -> map.remove(entry.key())));
    return done(call, new PolicyMapDelta(upserts, deletes));
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
  public CompletableFuture<Void> upsertIpcache(Collection<IpcacheEntry> entries) {
    final String call = "ipcache +" + entries.stream().map(e -> e.prefix().toString()).toList();
    if (fails.test(call)) {
      return failure(call);
    }
    entries.forEach(entry -> write(() -> ipcache.put(entry.prefix(), entry)));
    return done(call, null);
  }

  @Override
  public CompletableFuture<Void> removeIpcache(Collection<Prefix> prefixes) {
    final String call = "ipcache -" + prefixes;
    if (fails.test(call)) {
      return failure(call);
    }
    prefixes.forEach(prefix -> write(() -> ipcache.remove(prefix)));
    return done(call, null);
  }

  @Override
  public CompletableFuture<Void> synchronizeIpcache(Collection<IpcacheEntry> desired) {
    if (fails.test("ipcache synchronize")) {
      return failure("ipcache synchronize");
    }
    final Set<Prefix> wanted = new HashSet<>();
    for (final IpcacheEntry entry : desired) {
      wanted.add(entry.prefix());
      write(() -> ipcache.put(entry.prefix(), entry));
    }
    ipcache.keySet().removeIf(prefix -> !wanted.contains(prefix));
    return done("ipcache synchronize", null);
  }

  @Override
  public CompletableFuture<Set<Integer>> knownEndpoints() {
    return done("known", new TreeSet<>(policies.keySet()));
  }

  @Override
  public CompletableFuture<Integer> interfaceOf(int endpointId) {
    final EndpointSpec spec = attached.get(endpointId);
    return CompletableFuture.completedFuture(spec == null ? 0 : spec.ifindex());
  }

  @Override
  public CompletableFuture<List<String>> forgetEndpointsExcept(Set<Integer> endpointIds) {
    for (final int id : List.copyOf(policies.keySet())) {
      if (!endpointIds.contains(id)) {
        detachEndpoint(id);
      }
    }
    return done("forget except " + new TreeSet<>(endpointIds), List.of());
  }

  /** As if an earlier life of the agent had given an identity another number. */
  void renumber(int from, int to) {
    ipcache.replaceAll(
        (prefix, e) ->
            e.identity() == from ? new IpcacheEntry(prefix, to, e.endpointId(), e.isHost()) : e);
    for (final Map<PolicyMapEntry.Key, PolicyMapEntry> map : policies.values()) {
      for (final PolicyMapEntry e : List.copyOf(map.values())) {
        if (e.identity() == from) {
          final PolicyMapEntry other =
              new PolicyMapEntry(
                  to, e.direction(), e.protocol(), e.port(), e.prefixLength(), e.flags(), 0);
          map.remove(e.key());
          map.put(other.key(), other);
        }
      }
    }
  }

  /** The identity that the programs see in an address. */
  int identityOf(IpAddress address) {
    for (int length = address.bitLength(); length >= 0; length--) {
      final IpcacheEntry entry = ipcache.get(Prefix.of(address, length));
      if (entry != null) {
        return entry.identity();
      }
    }
    return address.isIpv4() ? WORLD4 : WORLD6;
  }

  /** Whether the endpoint lets this in or out. */
  boolean allows(
      int endpointId, PolicyDirection direction, IpAddress peer, int protocol, int port) {
    final Map<PolicyMapEntry.Key, PolicyMapEntry> map = policies.get(endpointId);
    if (map == null) {
      return false;
    }
    final PolicyMapEntry one = longest(map, identityOf(peer), direction, protocol, port);
    final PolicyMapEntry any = longest(map, 0, direction, protocol, port);
    return (one == null || !one.isDeny())
        && (any == null || !any.isDeny())
        && (one != null || any != null);
  }

  private static PolicyMapEntry longest(
      Map<PolicyMapEntry.Key, PolicyMapEntry> map,
      int identity,
      PolicyDirection direction,
      int protocol,
      int port) {
    for (int length = 64; length > 48; length--) {
      final int prefix = port & 0xffff << 64 - length;
      final PolicyMapEntry entry =
          map.get(new PolicyMapEntry.Key(identity, direction, protocol, prefix, length));
      if (entry != null) {
        return entry;
      }
    }
    final PolicyMapEntry entry =
        map.get(new PolicyMapEntry.Key(identity, direction, protocol, 0, 48));
    return entry != null ? entry : map.get(new PolicyMapEntry.Key(identity, direction, 0, 0, 40));
  }
}
