package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import agent.conductor.ConductorAgent;
import agent.contract.daemon.ControllerModel;
import agent.contract.daemon.DaemonStatusModel;
import agent.contract.daemon.DaemonStatusModel.BigTcp;
import agent.contract.daemon.DaemonStatusModel.ComponentStatus;
import agent.contract.daemon.DaemonStatusModel.Observer;
import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.DatapathStatus;
import agent.datapath.spec.FlowRing;
import agent.domain.PeriodicController;
import agent.maps.layout.EventType;
import agent.maps.layout.FlowEventFlyweight;
import agent.node.NodeInventory.SegmentSizes;
import agent.types.OperationException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.UnsafeBuffer;
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

  /** A ring of 4 that has seen 5, after an hour, two minutes and three seconds. */
  @Test
  void shouldTellWhatTheRingOfFlowsHoldsFromWhatItHasSeen() {
    final AtomicLong nowNs = new AtomicLong(7);
    final FlowRing ring = new FlowRing(4, Set.of(EventType.DROP), nowNs::get);
    final FlowEventFlyweight event =
        new FlowEventFlyweight().wrap(new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]), 0);
    for (int i = 0; i < 5; i++) {
      ring.append(event);
    }
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(3_723));
    final DaemonStatusModel.FlowObserver whole = StatusEncoder.flowObserver(ring, true);
    assertEquals(new Observer(4L, 4L, 5L, "1h2m3s"), whole.observer());
    assertEquals("Ok", whole.state());
    assertEquals("keeps drops, and all events while a subscriber listens", whole.msg());
    assertNull(StatusEncoder.flowObserver(ring, false).observer());
    final FlowRing some = new FlowRing(16, FlowRing.TYPES, nowNs::get);
    some.append(event);
    nowNs.addAndGet(TimeUnit.SECONDS.toNanos(61));
    assertEquals(
        new Observer(1L, 16L, 1L, "1m1s"), StatusEncoder.flowObserver(some, true).observer());
  }

  /** Each number is another one: a success at 2.5 s, then two failures. */
  @Test
  void shouldShowWhatAPeriodicTaskCameToAndWhen() {
    final AtomicLong nowMs = new AtomicLong();
    final Instant start = Instant.parse("2026-11-20T12:00:00Z");
    final ConductorAgent agent =
        new ConductorAgent("test", () -> TimeUnit.MILLISECONDS.toNanos(nowMs.get()));
    final PeriodicController controller =
        new PeriodicController(
            "watch",
            Duration.ofMillis(2500),
            () -> start.plusMillis(nowMs.get()),
            () -> {
              if (nowMs.get() > 2500) {
                throw new OperationException("the disk is full");
              }
            });
    controller.start(agent);
    for (int i = 0; i < 3; i++) {
      nowMs.addAndGet(2500);
      agent.doWork();
    }
    final ControllerModel shown = StatusEncoder.encode(controller);
    assertEquals("watch", shown.name());
    assertEquals(controller.uuid().toString(), shown.uuid());
    assertEquals(new ControllerModel.Configuration(true, "2.5s", "2.5s"), shown.configuration());
    assertEquals(
        new ControllerModel.Status(
            2L, 2L, 1L, "the disk is full", "2026-11-20T12:00:07.500Z", "2026-11-20T12:00:02.500Z"),
        shown.status());
    final ControllerModel fresh =
        StatusEncoder.encode(
            new PeriodicController("new", Duration.ofSeconds(1), () -> start, () -> {}));
    assertEquals(new ControllerModel.Status(0L, 0L, 0L, null, null, null), fresh.status());
  }

  @Test
  void shouldTellTheIntervalOfSweepsFromTheirNumber() {
    final ControllerModel sweeps =
        StatusEncoder.conntrackSweeps("u", new DatapathStatus.Conntrack(60, 2, 3, 4, 5, 6, 7));
    assertEquals("u", sweeps.uuid());
    assertEquals("60.0s", sweeps.configuration().interval());
    assertEquals(2, sweeps.status().successCount());
  }

  /** What says that it is off has a message and a state, which are both texts. */
  @Test
  void shouldSayWhyWhatIsOffIsOff() {
    final ComponentStatus agent = new ComponentStatus("ready", "Ok");
    final DaemonStatusModel brief = new StatusEncoder(null, "1.2.3").brief(agent, null);
    assertEquals(agent, brief.agent());
    assertEquals(
        new ComponentStatus("no certificate provider is enabled", "Disabled"),
        brief.authCertificateProvider());
    assertEquals(
        new ComponentStatus("no CNI configuration file is written", "Disabled"), brief.cniFile());
    assertEquals("Disabled", brief.containerRuntime().state());
    assertEquals("Disabled", brief.kvstore().state());
    assertNotEquals(brief.containerRuntime().msg(), brief.kvstore().msg());
  }
}
