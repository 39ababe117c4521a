package agent.dns;

import agent.datapath.manager.guard.Faults;
import agent.policy.NamePattern;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The addresses of names for the rules of this node. A change is stored first and enforced then: a
 * restart knows every address that was enforced. One change is enforced at a time; what comes
 * meanwhile is in the next one. The work is done by one thread of its own, which waits for the disk
 * and for nothing else; reads are for any thread.
 */
public final class Names implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Names.class);
  private static final int MOST_EXPIRIES = 1_000;
  private static final long CYCLE_MS = 100;
  private static final long STORE_RETRY_MS = 1_000;
  private static final long ENFORCEMENT_RETRY_MS = 1_000;
  private static final String ENFORCEMENT = "enforcement";

  /** An address that only stays longer than stored is stored so late; a restart adds the time. */
  private static final Duration STORE_DELAY = Duration.ofSeconds(30);

  private final NamesContext context;
  private final Faults faults = new Faults("names are looked up, stored and enforced");
  private final NameCache cache;
  private final NamePoller poller;
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          work -> Thread.ofPlatform().daemon().name("names").unstarted(work));
  private final Map<String, Set<IpAddress>> enforced = new HashMap<>();
  private final Set<String> pending = new TreeSet<>();

  /** Names whose addresses in the kernel are not known, since a change failed. */
  private final Set<String> failed = new TreeSet<>();

  private List<CompletableFuture<Void>> waiting = new ArrayList<>();
  private volatile String unreadable;
  private Enforcement enforcement;
  private Supplier<Set<String>> wanted;
  private Observer observer = (name, answer) -> {};
  private boolean isEnforcing;
  private boolean isOutdated;
  private boolean isStoreFailing;
  private long storeAtMs;
  private long enforceAtMs;

  /** Has the rules use other addresses. */
  @FunctionalInterface
  public interface Enforcement {
    /**
     * Gives names other addresses.
     *
     * @param changed names with all addresses that they have now; none for a name that is gone
     * @return completes when the kernel has them
     */
    CompletableFuture<Void> enforce(Map<String, ? extends Collection<IpAddress>> changed);
  }

  /** Hears of the answers of DNS servers. */
  @FunctionalInterface
  public interface Observer {
    /** A name was looked up. Called on the thread of the names; it must be short. */
    void onLookup(String name, NameResolver.Resolved answer);
  }

  private Names(NamesContext context) {
    this.context = context;
    cache = new NameCache(context.leastTtl().toSeconds(), context.mostAddresses());
    poller =
        context.resolver() == null
            ? null
            : new NamePoller(context.resolver(), context.pauses(), faults);
  }

  /**
   * Restores what the previous run stored. Where that cannot be read, no name has an address, and
   * calls fail with the reason, until all names are removed.
   *
   * @param context concluded
   * @return the names
   */
  public static Names open(NamesContext context) {
    final Names names = new Names(context);
    names.restore();
    return names;
  }

  private void restore() {
    final Instant now = context.clock().instant();
    try {
      final Instant least = now.plus(STORE_DELAY);
      for (final NameLookup lookup : context.store().load()) {
        cache.add(lookup.expirationTime().isBefore(least) ? lookup.until(least) : lookup);
      }
    } catch (UnreadableStateException e) {
      unreadable = e.getMessage();
      LOGGER.error("{}", e.getMessage());
      return;
    }
    for (final NameLookup one : context.preloaded()) {
      cache.add(one.name(), one.addresses(), one.ttlSec(), now, NameLookup.Source.PRECACHE);
      isOutdated = true;
    }
    enforced.putAll(cache.addresses());
  }

  /** Returns the addresses of all names, for the policy at the start. */
  public Map<String, Set<IpAddress>> addresses() {
    return cache.addresses();
  }

  /** Returns what is wrong now, a module of the health report. */
  public Faults faults() {
    return faults;
  }

  /**
   * Starts the thread; called once.
   *
   * @param rules has the rules use other addresses
   * @param wantedNames returns the names to look up; the same object while there are no others
   * @param observed hears of answers
   */
  public void start(Enforcement rules, Supplier<Set<String>> wantedNames, Observer observed) {
    enforcement = rules;
    wanted = wantedNames;
    observer = observed;
    thread.scheduleWithFixedDelay(this::cycle, 0, CYCLE_MS, TimeUnit.MILLISECONDS);
  }

  /**
   * Returns all lookups in the order of their names.
   *
   * @throws OperationException where the stored ones cannot be read
   */
  public List<NameLookup> list() {
    final String reason = unreadable;
    if (reason != null) {
      throw new OperationException(reason);
    }
    return cache.list();
  }

  /**
   * Removes the names that match; they are looked up again. The removal of all names also gives up
   * stored ones that cannot be read.
   *
   * @param pattern the names
   * @return completes when rules do not use the addresses any more; fails where that cannot be
   *     stored, and then nothing has changed
   */
  public CompletableFuture<Void> remove(NamePattern pattern) {
    final CompletableFuture<Void> answer = new CompletableFuture<>();
    thread.execute(() -> remove(pattern, answer));
    return answer;
  }

  private void remove(NamePattern pattern, CompletableFuture<Void> answer) {
    final List<NameLookup> removed = cache.remove(pattern);
    try {
      if (unreadable != null && !pattern.isEvery()) {
        throw new OperationException(unreadable);
      }
      context.store().save(cache.list());
    } catch (RuntimeException failure) {
      removed.forEach(cache::add);
      answer.completeExceptionally(failure);
      return;
    }
    unreadable = null;
    final Set<String> names = new TreeSet<>();
    removed.forEach(lookup -> names.add(lookup.name()));
    pending.addAll(names);
    if (poller != null) {
      poller.again(names, nowMs());
    }
    waiting.add(answer);
    enforce(true);
  }

  private long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(context.nanoClock().getAsLong());
  }

  /** One cycle; what it throws would end the thread. */
  void cycle() {
    try {
      if (unreadable == null) {
        work();
      }
    } catch (RuntimeException e) {
      LOGGER.error("names: {}", e.getMessage(), e);
    }
  }

  private void work() {
    final Instant now = context.clock().instant();
    final long nowMs = nowMs();
    if (poller != null) {
      for (final NamePoller.Found found : poller.step(nowMs, wanted.get())) {
        add(found, now, nowMs);
      }
    }
    pending.addAll(cache.expire(now, MOST_EXPIRIES));
    final boolean isStoreDue = isOutdated && nowMs - storeAtMs >= 0;
    if (isEnforcing || pending.isEmpty() && waiting.isEmpty() && !isStoreDue) {
      return;
    }
    if (!failed.isEmpty() && nowMs - enforceAtMs < 0) {
      return;
    }
    if (!isStoreFailing || nowMs - storeAtMs >= 0) {
      store(nowMs);
    }
    enforce(!isStoreFailing);
  }

  private void add(NamePoller.Found found, Instant now, long nowMs) {
    final NameResolver.Resolved answer = found.answer();
    observer.onLookup(found.name(), answer);
    if (answer.addresses().isEmpty()) {
      return;
    }
    if (cache.add(
        found.name(), answer.addresses(), answer.ttlSec(), now, NameLookup.Source.LOOKUP)) {
      pending.add(found.name());
    } else if (!isOutdated) {
      isOutdated = true;
      storeAtMs = nowMs + STORE_DELAY.toMillis() / 2;
    }
  }

  private void store(long nowMs) {
    try {
      context.store().save(cache.list());
      isStoreFailing = false;
      isOutdated = false;
    } catch (OperationException failure) {
      if (!isStoreFailing) {
        LOGGER.warn("names: new addresses wait: {}", failure.getMessage());
      }
      isStoreFailing = true;
      isOutdated = true;
      storeAtMs = nowMs + STORE_RETRY_MS;
    }
  }

  /**
   * Has the rules use what is pending, unless another change is on its way.
   *
   * @param isStored whether all of it is stored; otherwise addresses go, and none come
   */
  private void enforce(boolean isStored) {
    if (isEnforcing) {
      return;
    }
    final Map<String, Set<IpAddress>> changes = new TreeMap<>();
    final List<String> later = new ArrayList<>();
    for (final String name : pending) {
      final Set<IpAddress> before = enforced.getOrDefault(name, Set.of());
      final Set<IpAddress> after = cache.addressesOf(name);
      if (!isStored && after.retainAll(before)) {
        later.add(name);
      }
      if (!after.equals(before) || failed.contains(name)) {
        changes.put(name, after);
      }
    }
    pending.clear();
    pending.addAll(later);
    final List<CompletableFuture<Void>> answers = waiting;
    waiting = new ArrayList<>();
    if (changes.isEmpty()) {
      answers.forEach(answer -> answer.complete(null));
      return;
    }
    isEnforcing = true;
    changes.forEach(
        (name, addresses) -> {
          if (addresses.isEmpty()) {
            enforced.remove(name);
          } else {
            enforced.put(name, addresses);
          }
        });
    enforcement
        .enforce(changes)
        .whenComplete(
            (done, failure) ->
                thread.execute(() -> onEnforced(changes.keySet(), answers, failure)));
  }

  private void onEnforced(
      Set<String> names, List<CompletableFuture<Void>> answers, Throwable failure) {
    isEnforcing = false;
    if (failure == null) {
      failed.removeAll(names);
      faults.clear(ENFORCEMENT);
      answers.forEach(answer -> answer.complete(null));
    } else {
      failed.addAll(names);
      pending.addAll(names);
      enforceAtMs = nowMs() + ENFORCEMENT_RETRY_MS;
      faults.degraded(ENFORCEMENT, "addresses of names: " + failure.getMessage());
      LOGGER.warn("addresses of names: {}", failure.getMessage());
      answers.forEach(answer -> answer.completeExceptionally(failure));
    }
  }

  /** Ends the thread; what is not stored yet is stored. */
  @Override
  public void close() {
    thread.execute(
        () -> {
          if (isOutdated) {
            store(nowMs());
          }
        });
    thread.shutdown();
    try {
      thread.awaitTermination(STORE_RETRY_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
