package agent.launcher.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.AgentThreads;
import agent.conductor.DutyCycle;
import agent.conductor.HealthBoard;
import agent.conductor.ModuleHealth;
import agent.datapath.spec.DatapathStatus;
import agent.datapath.spec.TcMode;
import agent.maps.mirror.MapVisitor.MapSummary;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.MemoryUsage;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.concurrent.Agent;
import org.agrona.concurrent.YieldingIdleStrategy;
import org.junit.jupiter.api.Test;

/** The process alone; its subsystems need a datapath (AgentStatusKernelTest). */
class ProcessDebugViewTest {
  private final ProcessDebugView view =
      new ProcessDebugView(
          "1.2.3", null, Optional::empty, Map.of("PATH", "/bin", "API_TOKEN", "x", "HOME", "/"));

  @Test
  void shouldShowTheVersionAndTheEnvironmentWithoutSecrets() {
    assertEquals("1.2.3", view.agentVersion());
    assertEquals(List.of("API_TOKEN=***", "HOME=/", "PATH=/bin"), view.environment());
  }

  @Test
  void shouldShowTheMappingsOfThisProcess() throws IOException {
    try (BufferedReader map = new BufferedReader(view.memoryMap())) {
      assertTrue(map.lines().anyMatch(line -> line.endsWith("libjvm.so")));
    }
  }

  @Test
  void shouldShowAThreadAndAModuleInALineEach() {
    assertEquals(
        "dp-mirror: 0 ms of work, longest duty cycle 0 us",
        ProcessDebugView.text(new DutyCycle("dp-mirror", 1_000_000)));
    assertEquals(
        "conntrack: DEGRADED: the table is full",
        ProcessDebugView.text(
            new ModuleHealth("conntrack", ModuleHealth.Level.DEGRADED, "the table is full", 1, 2)));
  }

  /** No two numbers are the same, so that none can stand for another. */
  @Test
  void shouldShowEachNumberInItsPlace() {
    assertEquals(
        "4 processors, heap 11 of 22 bytes in use, 33 at most",
        ProcessDebugView.text(4, new MemoryUsage(5, 11, 22, 33)));
    assertEquals(
        "libbpf 1.6, attached by CLSACT, 31 endpoints",
        ProcessDebugView.text(
            new DatapathStatus(
                TcMode.CLSACT,
                "6.12",
                List.of(),
                "1.6",
                null,
                null,
                31,
                new DatapathStatus.Conntrack(1, 2, 3, 4, 5, 6, 7),
                new DatapathStatus.Ports(8, 9))));
    assertEquals(
        "flows: 3 of 1024",
        ProcessDebugView.text(
            new MapSummary("/sys/fs/bpf/m", "flows", "hash", 4, 8, 1024, 3, 1, 0.25)));
  }

  @Test
  void shouldTellTheWorkOfAThreadFromItsLongestDutyCycle() throws Exception {
    final AtomicLong nowNs = new AtomicLong();
    final CountDownLatch isIdle = new CountDownLatch(2);
    final Iterator<Long> durationsMs = List.of(3L, 300L, 3L).iterator();
    final Agent agent =
        new Agent() {
          @Override
          public int doWork() {
            if (!durationsMs.hasNext()) {
              isIdle.countDown();
              return 0;
            }
            nowNs.addAndGet(TimeUnit.MILLISECONDS.toNanos(durationsMs.next()));
            return 1;
          }

          @Override
          public String roleName() {
            return "dp-test";
          }
        };
    try (AgentThreads threads =
        new AgentThreads(Thread::new, nowNs::get, new HealthBoard(System::currentTimeMillis))) {
      threads.start(agent, new YieldingIdleStrategy(), () -> {}, 2_000_000_000L);
      assertTrue(isIdle.await(10, TimeUnit.SECONDS));
      assertEquals(
          "dp-test: 306 ms of work, longest duty cycle 300000 us",
          ProcessDebugView.text(threads.dutyCycles().getFirst()));
    }
  }
}
