package agent.datapath.guard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.conductor.HealthBoard.Reading;
import agent.conductor.Repairs;
import org.junit.jupiter.api.Test;

/** What a round of the guard reports of one subject. */
class SubjectTest {
  private static final Reading RIGHT = Reading.ok("links, maps and pins are as the agent set them");

  private final KernelFaults faults = new KernelFaults();
  private final Repairs repairs = new Repairs();
  private final Subject subject = new Subject("map flow_usage", "wrong entries", faults, repairs);

  private long repaired() {
    final long[] found = {0};
    repairs.forEach((kind, number) -> found[0] += kind == Repairs.Kind.MAP_ENTRY ? number : 0);
    return found[0];
  }

  @Test
  void shouldReportWhatItsRoundHasRepairedUntilARoundFindsNothing() {
    assertEquals(Check.Progress.COMPARED, subject.repaired(0));
    subject.endRound();
    assertEquals(RIGHT, faults.read());
    assertEquals(Check.Progress.REPAIRED, subject.repaired(2));
    assertEquals(Reading.degraded("map flow_usage: 2 wrong entries"), faults.read());
    assertEquals(Check.Progress.REPAIRED, subject.repaired(3));
    assertEquals(Reading.degraded("map flow_usage: 5 wrong entries"), faults.read());
    subject.endRound();
    assertEquals(Reading.degraded("map flow_usage: 5 wrong entries"), faults.read());
    assertEquals(Check.Progress.REPAIRED, subject.repaired(1));
    assertEquals(Reading.degraded("map flow_usage: 1 wrong entries"), faults.read());
    subject.endRound();
    subject.endRound();
    assertEquals(RIGHT, faults.read());
    assertEquals(6, repaired());
  }
}
