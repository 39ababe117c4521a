package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.contract.daemon.DaemonStatusModel.BigTcp;
import agent.datapath.manager.spec.DatapathEvents;
import agent.datapath.manager.spec.FlowRing;
import agent.node.NodeInventory.SegmentSizes;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Fields of like kinds, each with another value. */
class StatusEncoderTest {
  /** Counts of events, no two of which are the same. */
  private static final class Counts implements DatapathEvents {
    @Override
    public CompletableFuture<Void> subscribe(FlowSubscriber subscriber) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unsubscribe(FlowSubscriber subscriber) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long polls() {
      return 3;
    }

    @Override
    public long received() {
      return 5;
    }

    @Override
    public long lost() {
      return 7;
    }

    @Override
    public long suppressed() {
      return 11;
    }

    @Override
    public FlowRing flows() {
      return new FlowRing(0, Set.of(), System::nanoTime);
    }
  }

  @Test
  void shouldTellEventsThatWereLostFromThoseThatWereSuppressed() {
    assertEquals(
        Map.of("seen", 5L, "lost", 7L, "suppressed", 11L, "subscribers", 13),
        StatusEncoder.monitor(new Counts(), 13));
  }

  @Test
  void shouldTellTheSizesOfEachFamilyAndDirection() {
    final SegmentSizes sizes = new SegmentSizes(100_000, 90_000, 80_000, 70_000);
    assertEquals(new BigTcp(true, 80_000, 70_000), StatusEncoder.bigTcp(sizes, true));
    assertEquals(new BigTcp(true, 100_000, 90_000), StatusEncoder.bigTcp(sizes, false));
    final SegmentSizes smaller = new SegmentSizes(100_000, 90_000, 60_000, 50_000);
    assertEquals(new BigTcp(false, 60_000, 50_000), StatusEncoder.bigTcp(smaller, true));
    assertEquals(new BigTcp(false, null, null), StatusEncoder.bigTcp(null, true));
  }
}
