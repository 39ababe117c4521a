package agent.dns;

import agent.conductor.Faults;
import agent.datapath.spec.AddressUse;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The addresses of names for the rules of this node. A change is written first and enforced then: a
 * restart knows every address that was enforced, and a change is answered when it is on the disk,
 * too. One change is enforced at a time; what comes meanwhile is in the next one. The work is done
 * in turn, by a thread of its own or by those that bring answers, and waits for the disk and for
 * nothing else; reads are for any thread.
 */
public final class Names implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(Names.class);
  private static final int MOST_EXPIRIES = 128;
  private static final int MOST_ENDING_IN_CHANGE = 8;
  private static final long CYCLE_MS = 100;
  private static final long ENFORCEMENT_RETRY_MS = 1_000;
  private static final String ENFORCEMENT = "enforcement";

  private final NamesContext context;
  private final Faults faults = new Faults("all names are looked up, stored and enforced");
  private final HeldShares heldShares;
  private final NameCache cache;
  private final NamePoller poller;
  private final NameThread thread;
  private final NameWriter writer;
  private final FoundNames found = new FoundNames();
  private final AtomicBoolean isWoken = new AtomicBoolean();
  private final EnforcedAddresses enforced = new EnforcedAddresses();
  private final AnswerNames answers;
  private final Set<String> pending = new TreeSet<>();

  /**
   * Names that may have an address less. No caller waits for them: a change has a few, so that it
   * is short for those who wait for others in it and after it.
   */
  private final Set<String> ending = new LinkedHashSet<>();

  /** Names whose addresses in the kernel are not known, since a change failed. */
  private final Set<String> failed = new TreeSet<>();

  private List<CompletableFuture<Void>> waiting = new ArrayList<>();

  private volatile String unreadable;

  /** Null until the start, and set last there: nothing is taken before, and nothing is lost. */
  private volatile Enforcement enforcement;

  private Supplier<Set<String>> wanted;
  private Observer observer = (name, answer) -> {};
  private boolean isEnforcing;
  private long enforceAtMs;

  /** Makes the rules use other addresses. */
  @FunctionalInterface
  public interface Enforcement {
    /**
     * Replaces the addresses of names.
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
    heldShares = new HeldShares(context.nanoClock());
    cache = new NameCache(context.limits(), heldShares);
    answers = new AnswerNames(context, cache, enforced);
    thread = new NameThread(this::end);
    writer = new NameWriter(context.store(), cache, thread::execute, this::nowMs);
    poller =
        context.resolver() == null
            ? null
            : new NamePoller(context.resolver(), context.pauses(), faults);
  }

  /**
   * Restores what the previous run stored, and starts the thread. Where that cannot be read, no
   * name has an address, and calls fail with the reason, until all names are removed.
   *
   * @param context concluded
   * @return the names
   */
  public static Names open(NamesContext context) {
    final Names names = new Names(context);
    names.restore();
    names.thread.start(context.threads(), names.faults);
    return names;
  }

  private void restore() {
    final Instant now = context.clock().instant();
    try {
      final Instant least = now.plus(NameWriter.DELAY);
      for (final NameLookup lookup : context.store().load()) {
        final boolean isEnding =
            lookup.expirationTime().isBefore(least)
                && lookup.source() != NameLookup.Source.CONNECTION;
        cache.add(isEnding ? lookup.until(least) : lookup);
      }
    } catch (UnreadableStateException e) {
      unreadable = e.getMessage();
      LOGGER.error("{}", e.getMessage());
      return;
    }
    for (final NameLookup one : context.preloaded()) {
      cache.add(
          cache.lookup(
              0, one.name(), one.addresses(), one.ttlSec(), now, NameLookup.Source.PRECACHE));
      writer.changedNow();
    }
    cache.addresses().forEach((name, addresses) -> enforced.restore(name, Set.copyOf(addresses)));
  }

  /** Returns the addresses of all names, for the policy at the start. */
  public Map<String, Set<IpAddress>> addresses() {
    return cache.addresses();
  }

  /** Returns what is to hear which addresses are in use. */
  public AddressUse addressUse() {
    return cache;
  }

  /** Returns what endpoints hold and have given up, a module of the health report. */
  public HeldShares heldShares() {
    return heldShares;
  }

  /**
   * Starts the work; called once.
   *
   * @param rules has the rules use other addresses
   * @param wantedNames returns the names to look up; the same object while there are no others
   * @param observed hears of answers
   */
  public void start(Enforcement rules, Supplier<Set<String>> wantedNames, Observer observed) {
    wanted = wantedNames;
    observer = observed;
    enforcement = rules;
    thread.repeat(this::cycle, CYCLE_MS);
  }

  /**
   * Returns all lookups in the order of their names.
   *
   * @throws OperationException where the stored ones cannot be read
   */
  public List<NameLookup> list() {
    checkReadable();
    return cache.list();
  }

  /**
   * Returns what an endpoint looked up, in the order of the names.
   *
   * @throws OperationException where the stored lookups cannot be read
   */
  public List<NameLookup> list(int endpointId) {
    checkReadable();
    return cache.list(endpointId);
  }

  private void checkReadable() {
    final String reason = unreadable;
    if (reason != null) {
      throw new OperationException(reason);
    }
  }

  /**
   * Records what an endpoint looked up; any thread may call, and does not wait for work of another,
   * which takes the answer over. What comes at the same time is stored and enforced together.
   *
   * @param endpointId the endpoint; 0: none of this node
   * @param name in lower case, with a dot at the end
   * @param answer its addresses and their time to live
   * @return completes when the addresses are stored and the rules that select the name, or an alias
   *     that leads from it to them, use them: at once where all of that is so already, or no rule
   *     selects one of these names; fails where it cannot be done. Its value are those of the
   *     addresses that rules use, fewer where a limit keeps some out
   */
  public CompletableFuture<Set<IpAddress>> found(
      int endpointId, String name, NameResolver.Resolved answer) {
    final Set<IpAddress> all = Set.copyOf(answer.addresses());
    final List<String> selected = answers.selected(name, answer);
    final boolean canBeSelected = FoundNames.canBeSelected(name) || !selected.isEmpty();
    if (unreadable != null || all.isEmpty() || !canBeSelected) {
      return CompletableFuture.completedFuture(all);
    }
    final boolean isFree = answers.areSettled(selected, answer.addresses());
    final CompletableFuture<Void> done = new CompletableFuture<>();
    try {
      found.add(new FoundNames.Found(endpointId, name, answer, isFree ? null : done));
      if (!thread.isDoneNow(this::workOnFound)) {
        answerIfRefused(wake(), done);
      }
    } catch (OperationException failure) {
      done.completeExceptionally(failure);
    }
    return isFree
        ? CompletableFuture.completedFuture(all)
        : done.thenApply(stored -> answers.applied(selected, all));
  }

  /** During a change there is no haste: what comes is stored together, and is in the next one. */
  private void workOnFound() {
    if (isEnforcing) {
      wake();
    } else {
      cycle();
    }
  }

  /** Wakes the thread, so that it works; fails where it has ended. */
  private CompletableFuture<Void> wake() {
    if (!isWoken.compareAndSet(false, true)) {
      return CompletableFuture.completedFuture(null);
    }
    return thread
        .execute(this::cycle)
        .whenComplete(
            (done, refusal) -> {
              if (refusal != null) {
                isWoken.set(false); // who comes later is refused, too
              }
            });
  }

  private static void answerIfRefused(
      CompletableFuture<Void> command, CompletableFuture<Void> answer) {
    command.exceptionally(
        refusal -> {
          answer.completeExceptionally(
              refusal instanceof CompletionException ? refusal.getCause() : refusal);
          return null;
        });
  }

  /** Forgets what an endpoint looked up that is removed; its id may be given to another one. */
  public void endpointRemoved(int endpointId) {
    thread
        .execute(() -> removeOf(id -> id == endpointId))
        .exceptionally(
            refusal -> {
              LOGGER.debug("endpoint {}: its names will be removed by the next start", endpointId);
              return null;
            });
  }

  /** Forgets what endpoints looked up that are not there any more; for the start. */
  public void keepEndpoints(Set<Integer> present) {
    final Set<Integer> ids = Set.copyOf(present);
    thread.execute(() -> removeOf(id -> !ids.contains(id)));
  }

  private void removeOf(IntPredicate endpointIds) {
    final List<NameLookup> removed = cache.removeOf(endpointIds, context.clock().instant());
    if (!removed.isEmpty()) {
      removed.forEach(lookup -> ending.add(lookup.name()));
      writer.changedNow();
      cycle();
    }
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
    answerIfRefused(thread.execute(() -> remove(pattern, answer)), answer);
    return answer;
  }

  private void remove(NamePattern pattern, CompletableFuture<Void> answer) {
    final List<NameLookup> removed = cache.remove(pattern);
    try {
      if (unreadable != null && !pattern.isEvery()) {
        throw new OperationException(unreadable);
      }
      writer.replace();
    } catch (RuntimeException failure) {
      removed.forEach(cache::add);
      writer.changedNow();
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
    isWoken.set(false);
    try {
      if (unreadable == null && enforcement != null) {
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
      for (final NamePoller.Found one : poller.step(nowMs, wanted.get())) {
        add(one, now);
      }
    }
    final List<CompletableFuture<Void>> asked = takeFound(now);
    if (ending.addAll(cache.expire(now, MOST_EXPIRIES))) {
      writer.changedSoon();
    }
    if (cache.hasEnding(now)) {
      wake();
    }
    final boolean isStored = writer.write();
    if (isStored) {
      waiting.addAll(asked);
    } else {
      FoundNames.end(asked, false);
    }
    if (!isEnforcing && hasWork() && (failed.isEmpty() || nowMs - enforceAtMs >= 0)) {
      enforce(isStored);
    }
    writer.sync();
  }

  private boolean hasWork() {
    return !pending.isEmpty() || !ending.isEmpty() || !waiting.isEmpty();
  }

  private List<CompletableFuture<Void>> takeFound(Instant now) {
    final List<CompletableFuture<Void>> asked = new ArrayList<>();
    for (final FoundNames.Found one : found.take()) {
      add(one.endpointId(), one.name(), one.answer(), now);
      if (one.enforced() != null) {
        asked.add(one.enforced());
      }
    }
    if (!found.isEmpty()) {
      wake();
    }
    return asked;
  }

  private void add(NamePoller.Found one, Instant now) {
    observer.onLookup(one.name(), one.answer());
    if (!one.answer().addresses().isEmpty()) {
      add(0, one.name(), one.answer(), now);
    }
  }

  /** An alias has the addresses too where a rule selects it. */
  private void add(int endpointId, String name, NameResolver.Resolved answer, Instant now) {
    if (FoundNames.canBeSelected(name)) {
      addOne(endpointId, name, answer, now);
    }
    for (final String alias : answers.selected(name, answer)) {
      if (!alias.equals(name)) {
        addOne(endpointId, alias, answer, now);
      }
    }
  }

  private void addOne(int endpointId, String name, NameResolver.Resolved answer, Instant now) {
    final NameLookup lookup =
        cache.lookup(
            endpointId, name, answer.addresses(), answer.ttlSec(), now, NameLookup.Source.LOOKUP);
    if (cache.add(lookup)) {
      pending.add(name);
      writer.add(lookup);
    } else {
      writer.changed();
    }
  }

  /**
   * Makes the rules use what is pending, unless another change is on its way.
   *
   * @param isStored whether all of it is stored; otherwise addresses go, and none come
   */
  private void enforce(boolean isStored) {
    if (isEnforcing) {
      return;
    }
    takeEnding();
    final Map<String, Set<IpAddress>> changes = new TreeMap<>();
    final List<String> later = new ArrayList<>();
    for (final String name : pending) {
      final Set<IpAddress> before = enforced.of(name);
      final Set<IpAddress> after = cache.addressesOf(name);
      if (!isStored && after.retainAll(before)) {
        later.add(name);
      }
      if (!after.equals(before) || failed.contains(name)) {
        changes.put(name, Set.copyOf(after)); // which is kept, and smaller
      }
    }
    pending.clear();
    pending.addAll(later);
    final List<CompletableFuture<Void>> answers = waiting;
    waiting = new ArrayList<>();
    if (changes.isEmpty()) {
      FoundNames.end(answers, true);
      if (!ending.isEmpty()) {
        wake();
      }
      return;
    }
    isEnforcing = true;
    enforced.begin(changes);
    enforcement
        .enforce(changes)
        .whenComplete(
            (done, failure) -> {
              if (failure == null) { // those who wait do so for no other thread
                enforced.settle(changes);
                FoundNames.end(answers, true);
              }
              thread.execute(() -> onEnforced(changes, answers, failure));
            });
  }

  private void takeEnding() {
    final Iterator<String> some = ending.iterator();
    for (int i = 0; i < MOST_ENDING_IN_CHANGE && some.hasNext(); i++) {
      pending.add(some.next());
      some.remove();
    }
  }

  private void onEnforced(
      Map<String, Set<IpAddress>> changes,
      List<CompletableFuture<Void>> answers,
      Throwable failure) {
    isEnforcing = false;
    final Set<String> names = changes.keySet();
    if (failure == null) {
      enforced.end(names);
      failed.removeAll(names);
      faults.clear(ENFORCEMENT);
    } else {
      failed.addAll(names);
      enforced.doubt(names);
      pending.addAll(names);
      enforceAtMs = nowMs() + ENFORCEMENT_RETRY_MS;
      faults.degraded(ENFORCEMENT, "addresses of names: " + failure.getMessage());
      LOGGER.warn("addresses of names: {}", failure.getMessage());
      answers.forEach(answer -> answer.completeExceptionally(failure));
    }
    if (hasWork()) {
      cycle();
    }
  }

  /** Ends the work: what has come, and is not stored yet, is stored. */
  private void end() {
    if (isWoken.get()) {
      cycle();
    }
    writer.close();
  }

  /** Ends the threads; what is not stored yet is stored. */
  @Override
  public void close() {
    thread.close();
  }
}
