package agent.datapath.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth.Level;
import agent.conductor.Repairs;
import agent.datapath.guard.Check.Progress;
import agent.datapath.spec.EndpointFaults.Fault;
import agent.datapath.spec.EndpointFaults.Part;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** The pace of the checks, and the faults that they report; without a kernel. */
class GuardTest {
  private static final long US = 1000;
  private static final long MS = 1000 * US;
  private static final long SECOND = 1000 * MS;

  private final KernelFaults faults = new KernelFaults();
  private final List<String> steps = new ArrayList<>();
  private long nowNs = 500;
  private final Guard guard = new Guard(() -> nowNs, faults);

  /** A check whose steps take a time and then have a result; without one it throws. */
  private final class Steps implements Check {
    private final String name;
    private final Deque<Progress> results = new ArrayDeque<>();
    private long stepNs;
    private boolean fails;
    private boolean isClosed;

    Steps(String name, Progress... results) {
      this.name = name;
      this.results.addAll(List.of(results));
    }

    @Override
    public Progress step(long now) {
      assertEquals(nowNs, now);
      steps.add(name);
      nowNs += stepNs;
      if (fails) {
        throw new IllegalStateException("EPERM");
      }
      return results.isEmpty() ? Progress.DONE : results.poll();
    }

    @Override
    public void close() {
      isClosed = true;
    }

    @Override
    public String toString() {
      return name;
    }
  }

  private Steps add(Steps check) {
    guard.add(check);
    return check;
  }

  /** Returns the time until the next step. */
  private long rest() {
    final long from = nowNs;
    while (guard.doWork() == 0) {
      nowNs += MS;
      assertTrue(nowNs - from < 100 * SECOND, "no step");
    }
    return nowNs - from;
  }

  @Test
  void shouldRestTwoSecondsBeforeAndBetweenRounds() {
    add(new Steps("maps"));
    assertEquals(2 * SECOND, rest());
    assertEquals(0, guard.doWork());
    assertEquals(2 * SECOND, rest());
    assertEquals(List.of("maps", "maps"), steps);
  }

  @Test
  void shouldStepARoundToItsEndWithoutARest() {
    add(new Steps("maps", Progress.COMPARED, Progress.REPAIRED, Progress.COMPARED));
    rest();
    for (int i = 0; i < 3; i++) {
      assertEquals(1, guard.doWork());
    }
    assertEquals(0, guard.doWork());
    assertEquals(4, steps.size());
  }

  @Test
  void shouldStepDueChecksInTurn() {
    add(new Steps("links", Progress.COMPARED, Progress.COMPARED));
    add(new Steps("maps", Progress.COMPARED));
    rest();
    for (int i = 0; i < 4; i++) {
      assertEquals(1, guard.doWork());
    }
    assertEquals(0, guard.doWork());
    assertEquals(List.of("links", "maps", "links", "maps", "links"), steps);
  }

  /** A round of 200 ms in two steps is followed by a rest of 20 times that. */
  @Test
  void shouldRestInProportionToTheLastRoundUpToEightSeconds() {
    final Steps check = add(new Steps("maps", Progress.REPAIRED));
    rest();
    check.results.clear();
    check.stepNs = 100 * MS;
    check.results.add(Progress.REPAIRED);
    guard.doWork();
    guard.doWork();
    check.stepNs = 0;
    assertEquals(4 * SECOND, rest());
    assertEquals(2 * SECOND, rest(), "the time of a round counts once");
    check.stepNs = SECOND;
    rest();
    check.stepNs = 0;
    assertEquals(8 * SECOND, rest());
  }

  /** A step that waits in the kernel is followed by a rest, so that the round is spread. */
  @Test
  void shouldRestAfterASlowStepOfARound() {
    final Steps check = add(new Steps("slots", Progress.COMPARED));
    check.stepNs = 3 * MS;
    rest();
    check.stepNs = 0;
    assertEquals(60 * MS, rest());
    check.results.add(Progress.COMPARED);
    check.stepNs = 2 * MS;
    rest();
    check.stepNs = 0;
    assertEquals(8 * MS, rest(), "a step of 2 ms is not slow");
    check.results.add(Progress.REPAIRED);
    check.stepNs = 3 * MS;
    rest();
    assertEquals(1, guard.doWork(), "a repair goes on at once");
  }

  /** Others do not wait for a whole round, and its pauses are a part of the rest after it. */
  @Test
  void shouldPauseAfterEachStepOfARound() {
    final Steps check = add(new Steps("maps"));
    rest();
    check.results.addAll(List.of(Progress.COMPARED, Progress.COMPARED, Progress.REPAIRED));
    check.stepNs = MS;
    rest();
    assertEquals(4 * MS, guard.pauseNs());
    assertEquals(5 * MS, rest(), "with the step itself");
    assertEquals(5 * MS, rest());
    assertEquals(0, guard.pauseNs(), "a repair goes on at once");
    check.stepNs = 300 * MS;
    guard.doWork();
    assertEquals(20 * 303 * MS - 8 * MS, guard.pauseNs());
    add(new Steps("links"));
    assertEquals(2 * SECOND, guard.pauseNs(), "the check that is due first");
  }

  /** Rounds of one kind of objects, of which each step compares one. */
  private final class Objects implements Check {
    private final int count;
    private final long stepNs;
    private final long[] comparedNs;
    private int next;
    private long longestNs;

    Objects(int count, long stepNs) {
      this.count = count;
      this.stepNs = stepNs;
      comparedNs = new long[count];
      Arrays.fill(comparedNs, nowNs);
    }

    @Override
    public Progress step(long now) {
      if (next == count) {
        next = 0;
        return Progress.DONE;
      }
      nowNs += stepNs;
      longestNs = Math.max(longestNs, nowNs - comparedNs[next]);
      comparedNs[next++] = nowNs;
      return Progress.COMPARED;
    }
  }

  /**
   * An object that changes right after it was compared is compared again within 10 seconds: links,
   * filters, maps and slots of 1,000 endpoints, each step as long as a step may be.
   */
  @Test
  void shouldCompareEachObjectOfAThousandEndpointsWithinTenSeconds() {
    final int endpoints = 1000;
    final List<Objects> kinds =
        List.of(
            new Objects(2 * endpoints / 16, 100 * US), // hooks, 16 in a step
            new Objects(2 * endpoints, 100 * US), // policy maps: what is there, what is missing
            new Objects(endpoints, 100 * US), // slots of policies
            new Objects(100, 100 * US), // endpoints, interfaces, ipcache
            new Objects(3000, 100 * US), // a large prefilter list
            new Objects(20, 100 * US)); // pins
    kinds.forEach(guard::add);
    final long endNs = nowNs + 120 * SECOND;
    while (nowNs < endNs) {
      if (guard.doWork() == 0) {
        nowNs += MS;
      }
    }
    for (final Objects kind : kinds) {
      assertTrue(kind.longestNs <= 10 * SECOND, kind.count + ": " + kind.longestNs / MS + " ms");
      assertTrue(kind.longestNs >= 2 * SECOND, kind.count + ": " + kind.longestNs / MS + " ms");
    }
  }

  @Test
  void shouldReportACheckThatFailsUntilItHasRunToItsEnd() {
    final Steps check = add(new Steps("maps"));
    add(new Steps("links"));
    check.fails = true;
    rest();
    assertEquals(Level.STOPPED, faults.read().level());
    assertEquals("maps: the comparison with the kernel failed: EPERM", faults.read().message());
    check.fails = false;
    check.results.add(Progress.COMPARED);
    guard.doWork();
    assertEquals(2 * SECOND, rest());
    assertEquals(Level.STOPPED, faults.read().level(), "one step is not a round");
    guard.doWork();
    guard.doWork();
    assertEquals(Level.OK, faults.read().level());
    assertEquals(List.of("maps", "links", "maps", "links", "maps"), steps);
  }

  @Test
  void shouldCloseItsChecks() {
    final Steps check = add(new Steps("maps"));
    guard.close();
    assertTrue(check.isClosed);
    assertEquals(0, new Guard(() -> 0, faults).doWork(), "a guard without checks");
  }

  @Test
  void shouldReportAllFaultsOfAModuleTheWorstFirst() {
    final Faults module = new Faults("all is well");
    assertEquals("all is well", module.read().message());
    assertEquals(Level.OK, module.read().level());
    module.degraded("b", "repaired b");
    assertEquals(Level.DEGRADED, module.read().level());
    assertEquals("repaired b", module.read().message());
    module.degraded("a", "repaired a");
    assertEquals("repaired a; repaired b", module.read().message());
    module.failed("c", "broken c");
    module.failed("d", "broken d");
    assertEquals(Level.STOPPED, module.read().level());
    assertEquals("broken c; broken d; repaired a; repaired b", module.read().message());
    module.degraded("c", "repaired c");
    assertEquals("broken d; repaired a; repaired b; repaired c", module.read().message());
    for (final String subject : List.of("a", "b", "c", "d", "e")) {
      module.clear(subject);
    }
    assertEquals(Level.OK, module.read().level());
  }

  @Test
  void shouldReportFaultsToTheModuleAndToTheirEndpoint() {
    assertEquals(List.of(), faults.of(12));
    faults.degraded(12, Part.PROGRAMS, "endpoint 12 to_endpoint", "was detached");
    faults.failed(12, Part.POLICY, "endpoint 12 policy map", "is full");
    faults.failed(0, null, "pin of ipcache4", "is gone");
    assertEquals(
        List.of(
            new Fault(Part.POLICY, false, "endpoint 12 policy map: is full"),
            new Fault(Part.PROGRAMS, true, "endpoint 12 to_endpoint: was detached")),
        faults.of(12));
    assertEquals(List.of(), faults.of(13));
    assertEquals(List.of(), faults.of(0), "a fault of no endpoint");
    assertEquals(
        "endpoint 12 policy map: is full; pin of ipcache4: is gone;"
            + " endpoint 12 to_endpoint: was detached",
        faults.read().message());
    faults.clear("endpoint 12 policy map");
    assertEquals(1, faults.of(12).size());
    assertEquals(
        "pin of ipcache4: is gone; endpoint 12 to_endpoint: was detached", faults.read().message());
    faults.clear("endpoint 12 to_endpoint");
    faults.clear("pin of ipcache4");
    assertEquals(List.of(), faults.of(12));
    assertEquals("links, maps and pins are as the agent set them", faults.read().message());
  }

  @Test
  void shouldCountRepairsByKind() {
    final Repairs repairs = new Repairs();
    repairs.count(Repairs.Kind.ROUTE, 2);
    repairs.count(Repairs.Kind.ROUTE, 3);
    repairs.count(Repairs.Kind.DEVICE, 1);
    final Map<Repairs.Kind, Long> counted = new TreeMap<>();
    repairs.forEach(counted::put);
    assertEquals(Repairs.Kind.values().length, counted.size());
    assertEquals(5, counted.get(Repairs.Kind.ROUTE));
    assertEquals(1, counted.get(Repairs.Kind.DEVICE));
    assertEquals(0, counted.get(Repairs.Kind.LINK));
  }
}
