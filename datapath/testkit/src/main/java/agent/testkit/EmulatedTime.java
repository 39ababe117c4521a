package agent.testkit;

import java.time.Duration;

/**
 * The longest time that something asserted may take. An emulated processor has a multiple of it,
 * the system property {@code emulation.slowness}.
 */
public final class EmulatedTime {
  private static final int SLOWNESS = Integer.getInteger("emulation.slowness", 1);

  private EmulatedTime() {}

  /** Returns the limit here of what is due within a time on a processor that is not emulated. */
  public static Duration of(Duration limit) {
    return limit.multipliedBy(SLOWNESS);
  }
}
