package agent.dns;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.AgentThreads;
import agent.conductor.DutyCycle;
import agent.conductor.HealthBoard;
import agent.conductor.ModuleHealth;
import agent.dns.NameLookup.Source;
import agent.dns.NameResolver.Resolved;
import agent.policy.rule.NamePattern;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.UnreadableStateException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class NamesTest {
  private static final String WWW = "www.example.com.";
  private static final Instant START = Instant.parse("2026-11-20T10:00:00Z");

  private static final NameLookup PRELOADED =
      new NameLookup(
          WWW,
          List.of(IpAddress.parse("192.0.2.7")),
          5,
          Instant.EPOCH,
          Instant.EPOCH,
          Source.PRECACHE);

  /** A store that can be made to fail. */
  private static final class Store implements NameStore {
    private volatile List<NameLookup> saved = List.of();
    private volatile String unreadable;
    private volatile boolean fails;
    private volatile int saves;
    private volatile int attempts;

    @Override
    public List<NameLookup> load() {
      if (unreadable != null) {
        throw new UnreadableStateException(unreadable);
      }
      return saved;
    }

    @Override
    public synchronized void save(List<NameLookup> lookups) {
      attempts++;
      if (fails) {
        throw new OperationException("disk full");
      }
      saves++;
      saved = List.copyOf(lookups);
    }

    @Override
    public synchronized void append(List<NameLookup> lookups) {
      final List<NameLookup> all = new ArrayList<>(saved);
      all.addAll(lookups);
      save(all);
    }

    @Override
    public void sync() {}

    @Override
    public synchronized void compact(java.util.function.Supplier<List<NameLookup>> all) {
      save(all.get());
    }
  }

  private final HealthBoard board = new HealthBoard(() -> 0);
  private final AgentThreads threads = new AgentThreads(Thread::new, System::nanoTime, board);
  private final Store store = new Store();
  private final AtomicReference<Instant> now = new AtomicReference<>(START);
  private final Map<String, Resolved> zone = new TreeMap<>();
  private final Map<String, Set<IpAddress>> enforced = new TreeMap<>();
  private final List<Boolean> storedBefore = new ArrayList<>();
  private volatile Set<String> wanted = Set.of();
  private volatile CompletableFuture<Void> enforcing = CompletableFuture.completedFuture(null);
  private Names names;
  private boolean isClosed;

  private NamesContext context() {
    return new NamesContext()
        .store(store)
        .leastTtl(Duration.ofSeconds(60))
        .pauses(new NamePoller.Pauses(1, 1))
        .resolver(this::lookup)
        .threads(threads)
        .clocks(
            now::get,
            () -> TimeUnit.MILLISECONDS.toNanos(now.get().toEpochMilli() - START.toEpochMilli()));
  }

  private ModuleHealth health() {
    final List<ModuleHealth> modules = board.read();
    assertEquals(1, modules.size());
    assertEquals("names", modules.getFirst().moduleId());
    return modules.getFirst();
  }

  private CompletableFuture<Resolved> lookup(String name) {
    synchronized (zone) {
      final Resolved answer = zone.get(name);
      return answer == null
          ? CompletableFuture.failedFuture(new OperationException("no answer"))
          : CompletableFuture.completedFuture(answer);
    }
  }

  private void answers(String name, String... texts) {
    synchronized (zone) {
      zone.put(name, new Resolved(List.copyOf(addresses(texts)), 5));
    }
  }

  private static Set<IpAddress> addresses(String... texts) {
    return Arrays.stream(texts).map(IpAddress::parse).collect(java.util.stream.Collectors.toSet());
  }

  private CompletableFuture<Void> enforce(Map<String, ? extends Collection<IpAddress>> changed) {
    synchronized (enforced) {
      changed.forEach(
          (name, addresses) -> {
            final Set<IpAddress> stored = new java.util.HashSet<>();
            store.saved.stream()
                .filter(lookup -> lookup.name().equals(name))
                .forEach(lookup -> stored.addAll(lookup.addresses()));
            storedBefore.add(stored.containsAll(addresses));
            enforced.put(name, Set.copyOf(addresses));
          });
    }
    return enforcing;
  }

  private Names start(NamesContext context) {
    names = Names.open(context.conclude());
    names.start(this::enforce, () -> wanted, (name, answer) -> {});
    return names;
  }

  @AfterEach
  void stop() {
    if (names != null && !isClosed) {
      names.close();
    }
  }

  private void close() {
    isClosed = true;
    names.close();
  }

  /** Time goes on with each look, so that pauses end. */
  private void await(BooleanSupplier condition) throws InterruptedException {
    for (int i = 0; !condition.getAsBoolean(); i++) {
      assertTrue(i < 1000, "waited too long: " + enforced);
      Thread.sleep(10);
    }
  }

  private void awaitEnforced(String name, String... texts) throws InterruptedException {
    await(
        () -> {
          now.updateAndGet(time -> time.plusMillis(2));
          synchronized (enforced) {
            return addresses(texts).equals(enforced.get(name));
          }
        });
  }

  @Test
  void shouldStoreAnAnswerBeforeRulesUseItAndCloseWhenItExpires() throws Exception {
    answers(WWW, "192.0.2.7", "2001:db8::7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7", "2001:db8::7");
    answers(WWW, "192.0.2.8");
    awaitEnforced(WWW, "192.0.2.7", "2001:db8::7", "192.0.2.8");
    wanted = Set.of();
    now.updateAndGet(time -> time.plusSeconds(61));
    awaitEnforced(WWW);
    now.updateAndGet(time -> time.plusSeconds(15));
    await(() -> store.saved.isEmpty());
    assertFalse(storedBefore.contains(false), "enforced before it was stored");
  }

  @Test
  void shouldKnowEveryStoredNameAfterARestart() throws Exception {
    store.saved = List.of(stored(WWW, -1));
    final Names restored = start(context());
    assertEquals(Map.of(WWW, addresses("192.0.2.7")), restored.addresses());
    now.updateAndGet(time -> time.plusSeconds(29));
    Thread.sleep(250);
    assertEquals(Map.of(WWW, addresses("192.0.2.7")), restored.addresses());
    now.updateAndGet(time -> time.plusSeconds(2));
    awaitEnforced(WWW);
  }

  /** A longer time of it may not have been stored. */
  @Test
  void shouldKeepWhatEndsSoonForHalfAMinuteAfterARestart() {
    store.saved = List.of(stored("a.", 29), stored("b.", 31));
    assertEquals(
        List.of(START.plusSeconds(30), START.plusSeconds(31)),
        start(context()).list().stream().map(NameLookup::expirationTime).toList());
  }

  private static NameLookup stored(String name, int leftSec) {
    final List<IpAddress> address = List.of(IpAddress.parse("192.0.2.7"));
    final Instant end = START.plusSeconds(leftSec);
    return new NameLookup(name, address, 5, START.minusSeconds(100), end, Source.LOOKUP);
  }

  @Test
  void shouldStoreALongerTimeWithADelay() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    final int saves = store.saves;
    final Instant first = store.saved.getFirst().expirationTime();
    for (int i = 0; i < 5; i++) {
      now.updateAndGet(time -> time.plusMillis(10));
      Thread.sleep(150);
    }
    assertEquals(saves, store.saves, "each answer would sync the disk");
    now.updateAndGet(time -> time.plusSeconds(20));
    await(() -> store.saves > saves);
    assertTrue(store.saved.getFirst().expirationTime().isAfter(first));
  }

  @Test
  void shouldTakeNoNewAddressWhileTheStoreFailsAndStillCloseOldOnes() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    store.fails = true;
    answers(WWW, "192.0.2.8");
    await(
        () -> {
          now.updateAndGet(time -> time.plusMillis(2));
          return names.addresses().get(WWW).size() == 2;
        });
    Thread.sleep(300);
    assertEquals(addresses("192.0.2.7"), enforced.get(WWW));
    now.updateAndGet(time -> time.plusSeconds(61));
    awaitEnforced(WWW);
    store.fails = false;
    now.updateAndGet(time -> time.plusSeconds(2));
    awaitEnforced(WWW, "192.0.2.8");
    assertFalse(storedBefore.contains(false), "enforced before it was stored");
  }

  @Test
  void shouldRemoveNamesAndLookThemUpAgain() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    wanted = Set.of();
    names.remove(NamePattern.parse("p", "other.example.com")).get(10, TimeUnit.SECONDS);
    assertEquals(1, names.list().size());
    names.remove(NamePattern.parse("p", "*.example.com")).get(10, TimeUnit.SECONDS);
    assertEquals(List.of(), names.list());
    assertEquals(List.of(), store.saved);
    assertEquals(Set.of(), enforced.get(WWW));
    wanted = Set.of(WWW);
    awaitEnforced(WWW, "192.0.2.7");
  }

  @Test
  void shouldAnswerARemovalOnlyWhenRulesDoWithoutIt() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    final CompletableFuture<Void> held = new CompletableFuture<>();
    enforcing = held;
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    wanted = Set.of();
    final CompletableFuture<Void> removed = names.remove(NamePattern.ALL);
    Thread.sleep(200);
    assertFalse(removed.isDone());
    enforcing = CompletableFuture.completedFuture(null);
    held.complete(null);
    removed.get(10, TimeUnit.SECONDS);
    assertEquals(Set.of(), enforced.get(WWW));
  }

  @Test
  void shouldChangeNothingWhereARemovalCannotBeStored() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    wanted = Set.of();
    store.fails = true;
    final CompletableFuture<Void> removed = names.remove(NamePattern.ALL);
    assertEquals(
        "disk full",
        assertThrows(ExecutionException.class, () -> removed.get(10, TimeUnit.SECONDS))
            .getCause()
            .getMessage());
    assertEquals(addresses("192.0.2.7"), names.addresses().get(WWW));
    assertEquals(addresses("192.0.2.7"), enforced.get(WWW));
  }

  @Test
  void shouldStayClosedWhileTheStoredNamesCannotBeRead() throws Exception {
    store.unreadable = "names: damaged";
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    final Names closed = start(context());
    assertEquals(Map.of(), closed.addresses());
    assertEquals(
        "names: damaged", assertThrows(OperationException.class, closed::list).getMessage());
    assertEquals(
        "names: damaged",
        assertThrows(OperationException.class, () -> closed.list(7)).getMessage());
    Thread.sleep(300);
    assertEquals(Map.of(), enforced);
    assertEquals(0, store.saves);
    final CompletableFuture<Void> some = closed.remove(NamePattern.parse("p", "*.example.com"));
    assertThrows(ExecutionException.class, () -> some.get(10, TimeUnit.SECONDS));
    closed.remove(NamePattern.ALL).get(10, TimeUnit.SECONDS);
    awaitEnforced(WWW, "192.0.2.7");
  }

  @Test
  void shouldTellOfAFailedChangeUntilOneSucceeds() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    enforcing = CompletableFuture.failedFuture(new OperationException("ENOSPC"));
    start(context());
    await(() -> health().level() == ModuleHealth.Level.DEGRADED);
    assertEquals("addresses of names: ENOSPC", health().message());
    enforcing = CompletableFuture.completedFuture(null);
    answers(WWW, "192.0.2.8");
    awaitEnforced(WWW, "192.0.2.7", "192.0.2.8");
    await(() -> health().level() == ModuleHealth.Level.OK);
  }

  @Test
  void shouldTellOfALookupThatFailsUntilOneSucceeds() throws Exception {
    wanted = Set.of(WWW);
    start(context());
    await(() -> health().level() == ModuleHealth.Level.DEGRADED);
    assertEquals("looking up 1 of 1 names failed: no answer", health().message());
    answers(WWW, "192.0.2.7");
    awaitEnforced(WWW, "192.0.2.7");
    await(() -> health().level() == ModuleHealth.Level.OK);
  }

  @Test
  void shouldMeasureItsThreadUntilItEnds() throws Exception {
    start(context());
    names.remove(NamePattern.ALL).get(10, TimeUnit.SECONDS);
    final DutyCycle cycle = threads.dutyCycles().getFirst();
    assertEquals("names", cycle.name());
    await(() -> cycle.totalNs() > 0);
    assertEquals(ModuleHealth.Level.OK, health().level());
    assertEquals("all names are looked up, stored and enforced", health().message());
    close();
    assertEquals(ModuleHealth.Level.STOPPED, health().level());
  }

  @Test
  void shouldEnforceAgainWhatCouldNotBe() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    enforcing = CompletableFuture.failedFuture(new OperationException("ENOSPC"));
    start(context());
    await(() -> health().level() == ModuleHealth.Level.DEGRADED);
    synchronized (enforced) {
      assertEquals(1, storedBefore.size(), "not before a pause");
      enforced.clear();
    }
    enforcing = CompletableFuture.completedFuture(null);
    awaitEnforced(WWW, "192.0.2.7");
    await(() -> health().level() == ModuleHealth.Level.OK);
  }

  @Test
  void shouldHavePreloadedNamesFromTheStartOn() throws Exception {
    start(context().preloaded(List.of(PRELOADED)));
    final NameLookup loaded = names.list().getFirst();
    assertEquals(Source.PRECACHE, loaded.source());
    assertEquals(START, loaded.lookupTime());
    assertEquals(START.plusSeconds(60), loaded.expirationTime());
    await(() -> store.saves > 0);
  }

  @Test
  void shouldTellOfEachAnswerAlsoOfOneWithoutAddresses() throws Exception {
    synchronized (zone) {
      zone.put(WWW, new Resolved(List.of(), 0));
    }
    answers("b.example.com.", "192.0.2.8");
    wanted = Set.of(WWW, "b.example.com.");
    final Map<String, Resolved> heard = new ConcurrentHashMap<>();
    names = Names.open(context().conclude());
    names.start(this::enforce, () -> wanted, heard::put);
    awaitEnforced("b.example.com.", "192.0.2.8");
    await(() -> heard.size() == 2);
    assertEquals(zone, heard);
    assertEquals(Set.of("b.example.com."), enforced.keySet());
  }

  @Test
  void shouldStoreALongerTimeWhenItIsClosed() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    final List<String> heard = new CopyOnWriteArrayList<>();
    names = Names.open(context().conclude());
    names.start(this::enforce, () -> wanted, (name, answer) -> heard.add(name));
    awaitEnforced(WWW, "192.0.2.7");
    final Instant first = store.saved.getFirst().expirationTime();
    final int lookups = heard.size();
    now.updateAndGet(time -> time.plusSeconds(1));
    await(
        () -> {
          now.updateAndGet(time -> time.plusMillis(2));
          return heard.size() > lookups + 1;
        });
    assertEquals(first, store.saved.getFirst().expirationTime());
    close();
    assertTrue(store.saved.getFirst().expirationTime().isAfter(first));
    final CompletableFuture<Void> late = names.remove(NamePattern.ALL);
    assertEquals(
        "names is closed",
        assertThrows(ExecutionException.class, () -> late.get(10, TimeUnit.SECONDS))
            .getCause()
            .getMessage());
  }

  @Test
  void shouldTryAStoreThatFailsAgainAfterASecondAndNotInEachCycle() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    store.fails = true;
    start(context());
    await(() -> store.attempts > 0);
    wanted = Set.of();
    now.updateAndGet(time -> time.plusMillis(999));
    Thread.sleep(250);
    assertEquals(1, store.attempts);
    now.updateAndGet(time -> time.plusMillis(1));
    await(() -> store.attempts > 1);
    store.fails = false;
    now.updateAndGet(time -> time.plusMillis(1000));
    awaitEnforced(WWW, "192.0.2.7");
  }

  @Test
  void shouldKeepAndRemovePreloadedNamesWithoutAResolver() throws Exception {
    wanted = Set.of(WWW);
    start(context().resolver(null).preloaded(List.of(PRELOADED)));
    await(() -> store.saves > 0);
    assertEquals(List.of(WWW), store.saved.stream().map(NameLookup::name).toList());
    names.remove(NamePattern.ALL).get(10, TimeUnit.SECONDS);
    assertEquals(Map.of(), names.addresses());
    assertEquals(Set.of(), enforced.get(WWW));
  }

  @Test
  void shouldStoreNothingWhenItIsClosedWhereNothingHasChanged() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context().pauses(NamePoller.Pauses.DEFAULT));
    await(
        () -> {
          synchronized (enforced) {
            return enforced.containsKey(WWW);
          }
        });
    final int saves = store.saves;
    Thread.currentThread().interrupt();
    close();
    assertTrue(Thread.interrupted(), "the caller learns of its interruption");
    assertEquals(saves, store.saves);
  }

  @Test
  void shouldLookARemovedNameUpAtOnce() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context().pauses(NamePoller.Pauses.DEFAULT));
    await(() -> names.addresses().containsKey(WWW));
    answers(WWW, "192.0.2.8");
    names.remove(NamePattern.ALL).get(10, TimeUnit.SECONDS);
    await(() -> addresses("192.0.2.8").equals(names.addresses().get(WWW)));
    assertEquals(START, now.get(), "no pause has ended");
  }

  @Test
  void shouldLookUpNoNameThatIsNotWantedAnyMore() throws Exception {
    answers(WWW, "192.0.2.7");
    answers("b.example.com.", "192.0.2.8");
    wanted = Set.of(WWW, "b.example.com.");
    final List<String> heard = new CopyOnWriteArrayList<>();
    names = Names.open(context().conclude());
    names.start(this::enforce, () -> wanted, (name, answer) -> heard.add(name));
    awaitEnforced(WWW, "192.0.2.7");
    awaitEnforced("b.example.com.", "192.0.2.8");
    wanted = Set.of(WWW);
    for (int i = 0; i < 2; i++) {
      heard.clear();
      await(
          () -> {
            now.updateAndGet(time -> time.plusMillis(2));
            return heard.stream().filter(WWW::equals).count() > 1;
          });
    }
    assertEquals(Set.of(WWW), Set.copyOf(heard), "from the cycle after the change on");
  }

  @Test
  void shouldAnswerARemovalOfNothingAfterTheChangeThatIsOnItsWay() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    final CompletableFuture<Void> held = new CompletableFuture<>();
    enforcing = held;
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    wanted = Set.of();
    final CompletableFuture<Void> removed = names.remove(NamePattern.parse("p", "b.example.com"));
    held.complete(null);
    removed.get(10, TimeUnit.SECONDS);
    assertEquals(addresses("192.0.2.7"), enforced.get(WWW));
  }

  @Test
  void shouldFailARemovalThatCannotBeEnforced() throws Exception {
    answers(WWW, "192.0.2.7");
    wanted = Set.of(WWW);
    start(context());
    awaitEnforced(WWW, "192.0.2.7");
    wanted = Set.of();
    enforcing = CompletableFuture.failedFuture(new OperationException("EIO"));
    final CompletableFuture<Void> removed = names.remove(NamePattern.ALL);
    assertEquals(
        "EIO",
        assertThrows(ExecutionException.class, () -> removed.get(10, TimeUnit.SECONDS))
            .getCause()
            .getMessage());
  }
}
