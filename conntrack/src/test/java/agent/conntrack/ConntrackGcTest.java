package agent.conntrack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import agent.bindings.Errno;
import agent.conntrack.ConntrackGc.ConntrackSweeper;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import agent.testkit.HeapAllocation;
import java.util.ArrayList;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

class ConntrackGcTest {
  private static final long INTERVAL_NS = 60_000_000_000L;
  private static final List<ConntrackTable> ALL = List.of(ConntrackTable.values());

  private final FakeSweeper sweeper = new FakeSweeper();
  private long nowNs = -5;

  @Test
  void shouldSweepOneTablePerCycleAndWaitForTheNextRound() {
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
    assertEquals("dp-conntrack-gc", gc.roleName());
    assertEquals(0, gc.doWork());
    nowNs += INTERVAL_NS;
    for (final ConntrackTable table : ALL) {
      assertEquals(1, gc.doWork());
      assertEquals(table.number(), sweeper.swept.getLast());
    }
    assertEquals(0, gc.doWork());
    assertEquals(ALL.size(), sweeper.swept.size());
    nowNs += INTERVAL_NS - 1;
    assertEquals(0, gc.doWork());
    nowNs++;
    assertEquals(1, gc.doWork());
  }

  @Test
  void shouldSweepOnlyTheGivenTables() {
    final List<ConntrackTable> some = List.of(ConntrackTable.TCP6, ConntrackTable.ANY6);
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper,
            ConntrackGc.Usage.NONE,
            ConntrackGc.Watch.NONE,
            some,
            () -> nowNs,
            INTERVAL_NS);
    nowNs += INTERVAL_NS;
    assertEquals(2, gc.doWork() + gc.doWork() + gc.doWork());
    assertEquals(List.of(2, 3), sweeper.swept);
  }

  @Test
  void shouldCountVisitedAndDeletedEntriesOfEachTable() {
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
    sweeper.visited = 1000;
    sweeper.deleted = 10;
    sweeper.durationNs = 700;
    round(gc);
    sweeper.durationNs = 300;
    sweeper.visited = 900;
    round(gc);

    final ConntrackCounters counters = gc.counters();
    for (final ConntrackTable table : ALL) {
      assertEquals(2, counters.sweeps(table));
      assertEquals(1900, counters.visited(table));
      assertEquals(20, counters.deleted(table));
      assertEquals(890, counters.entries(table));
      assertEquals(300, counters.lastDurationNs(table));
    }
  }

  @Test
  void shouldShortenTheIntervalWhileManyEntriesExpire() {
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
    sweeper.visited = 1000;
    sweeper.deleted = 500;
    round(gc);
    assertEquals(INTERVAL_NS / 2, gc.intervalNs());
    sweeper.deleted = 0;
    round(gc);
    round(gc);
    assertEquals(INTERVAL_NS, gc.intervalNs());
  }

  @Test
  void shouldRecordTheErrorOfATableAndContinueWithTheNext() {
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
    sweeper.failing = ConntrackTable.ANY4.number();
    round(gc);
    assertEquals(ALL.size(), sweeper.swept.size());
    assertEquals(0, gc.counters().sweeps(ConntrackTable.ANY4));
    assertEquals(Errno.ENOMEM, gc.counters().lastErrno(ConntrackTable.ANY4));
    assertEquals(1, gc.counters().sweeps(ConntrackTable.TCP6));
    sweeper.failing = -1;
    round(gc);
    assertEquals(0, gc.counters().lastErrno(ConntrackTable.ANY4));
    assertEquals(1, gc.counters().sweeps(ConntrackTable.ANY4));
  }

  @Test
  void shouldRefuseAnEmptyTableListAndAZeroInterval() {
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new ConntrackGc(
                sweeper,
                ConntrackGc.Usage.NONE,
                ConntrackGc.Watch.NONE,
                List.of(),
                () -> nowNs,
                INTERVAL_NS));
    assertThrows(
        IllegalArgumentException.class,
        () ->
            new ConntrackGc(
                sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, 0));
  }

  @Test
  void shouldAllocateNothing() {
    sweeper.remember = false;
    sweeper.visited = 100;
    final ConntrackGc gc =
        new ConntrackGc(
            sweeper, ConntrackGc.Usage.NONE, ConntrackGc.Watch.NONE, ALL, () -> nowNs, INTERVAL_NS);
    final Runnable work =
        () -> {
          nowNs += INTERVAL_NS / 10;
          gc.doWork();
        };

    assertEquals(0, HeapAllocation.steady(20_000, work));
  }

  @Test
  void shouldWatchInTheRoundsThatTheWatchAsksForAndTellWhetherASweepFailed() {
    final List<String> reported = new ArrayList<>();
    final boolean[] asks = {false};
    final boolean[] presses = {false};
    final ConntrackGc.Watch watch =
        new ConntrackGc.Watch() {
          @Override
          public boolean isPressing() {
            return presses[0];
          }

          @Override
          public boolean onRoundStart() {
            reported.add("start " + sweeper.watched.size());
            return asks[0];
          }

          @Override
          public void onRoundEnd(boolean isComplete) {
            reported.add("end " + isComplete);
          }
        };
    final ConntrackGc gc =
        new ConntrackGc(sweeper, ConntrackGc.Usage.NONE, watch, ALL, () -> nowNs, INTERVAL_NS);
    assertEquals(0, gc.doWork());
    round(gc);
    asks[0] = true;
    sweeper.failing = ConntrackTable.TCP6.number();
    round(gc);
    sweeper.failing = -1;
    asks[0] = false;
    round(gc);
    final int tables = ALL.size();
    assertEquals(
        List.of(
            "start 0",
            "end true",
            "start " + tables,
            "end false",
            "start " + 2 * tables,
            "end true"),
        reported);
    assertEquals(
        List.of(false, true, false),
        List.of(
            sweeper.watched.get(0), sweeper.watched.get(tables), sweeper.watched.get(2 * tables)));
    presses[0] = true;
    nowNs += 999_999_999L;
    assertEquals(0, gc.doWork());
    nowNs++;
    assertEquals(1, gc.doWork());
    assertEquals(tables, sweeper.watched.stream().filter(isWatching -> isWatching).count());
  }

  private void round(ConntrackGc gc) {
    nowNs += gc.intervalNs();
    for (int i = 0; i < ALL.size(); i++) {
      assertEquals(1, gc.doWork());
    }
  }

  private final class FakeSweeper implements ConntrackSweeper {
    private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[ConntrackSweepFlyweight.LENGTH]);
    private final List<Integer> swept = new ArrayList<>();
    private final List<Boolean> watched = new ArrayList<>();
    private boolean remember = true;
    private int failing = -1;
    private long visited;
    private long deleted;
    private long durationNs;

    @Override
    public int sweep(int table, boolean watches, ConntrackSweepFlyweight result) {
      if (remember) {
        swept.add(table);
        watched.add(watches);
      }
      nowNs += durationNs;
      result.wrap(buffer, 0).clear().table(table).visited(visited).deleted(deleted);
      return table == failing ? -Errno.ENOMEM : 0;
    }
  }
}
