package agent.datapath.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.bindings.Errno;
import agent.conductor.HealthBoard;
import agent.conntrack.ConntrackGc;
import agent.conntrack.ConntrackGc.ConntrackSweeper;
import agent.datapath.spec.DatapathStatus;
import agent.maps.layout.ConntrackSweepFlyweight;
import agent.maps.layout.ConntrackTable;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** The counters of all tables, and which of them makes the sweeps unhealthy. */
class ConntrackReportTest {
  private static final List<ConntrackTable> TABLES =
      List.of(ConntrackTable.TCP4, ConntrackTable.ANY6);

  private final UnsafeBuffer buffer = new UnsafeBuffer(new byte[ConntrackSweepFlyweight.LENGTH]);
  private long nowNs;
  private int failing = -1;
  private String overflowing = "";
  private final ConntrackSweeper sweeper =
      (table, watches, result) -> {
        nowNs += 10 + table;
        result.wrap(buffer, 0).clear().table(table).visited(1000 + table).deleted(table);
        return table == failing ? -Errno.ENOMEM : 0;
      };
  private final ConntrackGc gc =
      new ConntrackGc(
          sweeper,
          ConntrackGc.Usage.NONE,
          ConntrackGc.Watch.NONE,
          TABLES,
          () -> nowNs,
          60_000_000_000L);
  private final ConntrackReport report =
      new ConntrackReport(gc, () -> 77, () -> overflowing, TABLES);

  private void round() {
    nowNs += 60_000_000_000L;
    gc.doWork();
    gc.doWork();
  }

  @Test
  void shouldAddTheCountersOfTheTablesAndCountWholeRounds() {
    assertEquals(new DatapathStatus.Conntrack(60, 0, 0, 0, 0, 0, 77), report.status());
    final int numbers = ConntrackTable.TCP4.number() + ConntrackTable.ANY6.number();
    round();
    assertEquals(
        new DatapathStatus.Conntrack(60, 1, 2000, 2000 + numbers, numbers, 20 + numbers, 77),
        report.status());
    failing = ConntrackTable.ANY6.number();
    round();
    assertEquals(1, report.status().runs(), "a table was not swept");
    assertEquals(3000 + numbers + ConntrackTable.TCP4.number(), report.status().visited());
  }

  @Test
  void shouldNameTheTableWhoseLastSweepFailed() {
    final HealthBoard.Reading ok =
        HealthBoard.Reading.ok("the last sweep of every table succeeded");
    assertEquals(ok, report.health());
    failing = ConntrackTable.ANY6.number();
    round();
    assertEquals(HealthBoard.Reading.degraded("sweep of ANY6: ENOMEM"), report.health());
    failing = -1;
    round();
    assertEquals(ok, report.health());
  }

  @Test
  void shouldNameTheEndpointsThatOpenFlowsBeyondTheirShare() {
    assertEquals(
        HealthBoard.Reading.ok("no endpoint exceeds its conntrack share"), report.shareHealth());
    overflowing = "endpoint 7 (3 flows)";
    assertEquals(
        HealthBoard.Reading.degraded("conntrack share exceeded: endpoint 7 (3 flows)"),
        report.shareHealth());
  }
}
